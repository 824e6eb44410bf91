"""The proxy on a real socket, a client of it, and what servers stream."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx

from eunoe_proxy import ProxyApp, create_app
from served import running_app

Messages = list[dict[str, Any]]


def talk(turns: int, words: int = 40, mark: str = "") -> Messages:
    """A plain chat that ends with a question."""
    made: Messages = [{"role": "system", "content": "Be brief."}]
    for turn in range(turns):
        made.append({"role": "user", "content": f"Question {turn}{mark}: " + "word " * words})
        made.append({"role": "assistant", "content": f"Answer {turn}: " + "reply " * words})
    return [*made, {"role": "user", "content": f"And now{mark}?"}]


def event(**fields: Any) -> bytes:
    """One server-sent event."""
    return f"data: {json.dumps(fields)}\n\n".encode()


def delta(text: str) -> bytes:
    return event(choices=[{"index": 0, "delta": {"content": text}}])


DONE = b"data: [DONE]\n\n"


class RunningProxy:
    """A proxy and a client of it."""

    def __init__(self, app: ProxyApp, url: str) -> None:
        self.app, self.url = app, url
        self.client = httpx.Client(base_url=url, timeout=30.0, trust_env=False)

    def ask(self, messages: Any, headers: dict[str, str] | None = None, **more: Any) -> Any:
        """One chat request."""
        body = {"model": "gpt-4o", "messages": messages, **more}
        return self.client.post("/v1/chat/completions", json=body, headers=headers)

    def metric(self, name: str) -> float:
        """A figure of /metrics."""
        lines = self.client.get("/metrics").text.splitlines()
        return next(float(x.rsplit(" ", 1)[1]) for x in lines if x.startswith(name + " "))

    def wait_for(self, name: str, value: float) -> None:
        """Wait until a figure has a value: answers are entered behind them."""
        end = time.monotonic() + 10
        while self.metric(name) != value:
            assert time.monotonic() < end, (name, self.metric(name))
            time.sleep(0.02)


@contextmanager
def running_proxy(upstream: str, **options: Any) -> Iterator[RunningProxy]:
    """A proxy for the time of a test."""
    app = create_app(upstream, **{"deadline": 20.0, **options})
    with running_app(app) as url:
        running = RunningProxy(app, url)
        try:
            yield running
        finally:
            running.client.close()
