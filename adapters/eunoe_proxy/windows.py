"""How much the server's models hold, from its own list, asked for when a request needs it."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Mapping
from typing import Any

from eunoe.domain.errors import BackendError
from eunoe.domain.log import logger
from eunoe.wire.model_window import find_window
from eunoe_proxy.upstream import Upstream
from eunoe_web.asgi import Headers

_LARGEST_LIST = 16_000_000
_ASK_AGAIN = 300.0
_TRY_AGAIN = 15.0
_MODELS_KEPT = 10_000


class WindowList:
    """Windows by model: numbers, the same for all callers.

    Args:
        upstream: the server.
        seconds: that a request waits for the list at most.
        clock: seconds, rising.
    """

    def __init__(
        self,
        upstream: Upstream,
        seconds: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._upstream, self._seconds, self._clock = upstream, seconds, clock
        self._known: dict[str, int] = {}
        self._next_time = clock()
        self._lock = asyncio.Lock()
        self._behind: asyncio.Task[None] | None = None

    async def find(self, model: str, key: str) -> int:
        """Tokens that a model holds; 0 where the server does not say.

        The list is asked for again after five minutes, since a server may load a model anew with
        another window, and behind the request if it told this model's before; one that did not come
        after 15 seconds. What is known stays, whatever a caller with a wrong key brings about.

        Args:
            model: its name.
            key: the caller's ``Authorization``; empty for none.
        """
        if self._clock() >= self._next_time:
            if model not in self._known:
                await self._refresh(key)
            elif self._behind is None or self._behind.done():
                self._behind = asyncio.create_task(self._refresh(key))
        return self._known.get(model, 0)

    async def _refresh(self, key: str) -> None:
        """Ask for the list, unless somebody else just did."""
        async with self._lock:
            if self._clock() < self._next_time:
                return
            wait = _TRY_AGAIN
            try:
                fresh = await asyncio.wait_for(self._ask(key), self._seconds)
                self._known = fresh if len(self._known) > _MODELS_KEPT else self._known | fresh
                wait = _ASK_AGAIN
            except Exception as error:
                name = type(error).__name__
                logger.info("eunoe: the server's list of models cannot be read (%s)", name)
            self._next_time = self._clock() + wait

    async def _ask(self, key: str) -> dict[str, int]:
        """The windows that the list tells.

        Raises:
            BackendError: the server refuses it.
            UpstreamError: it does not answer.
            ValueError: it is no JSON.
        """
        headers: Headers = [(b"accept", b"application/json"), (b"accept-encoding", b"identity")]
        if key:
            headers.append((b"authorization", key.encode("latin-1")))
        answer = await self._upstream.open("GET", b"/models", b"", headers, b"")
        try:
            data = bytearray()
            async for piece in answer.aiter_raw():
                data += piece
                if len(data) > _LARGEST_LIST:
                    break
        finally:
            await answer.aclose()
        if answer.status_code != 200:
            raise BackendError(f"status {answer.status_code}")
        return read_windows(json.loads(data))


def read_windows(listed: Any) -> dict[str, int]:
    """The windows that a list of models tells, as far as it tells any.

    Args:
        listed: ``{"data": [{"id": "...", ...}, ...]}``, or the list alone.
    """
    rows = listed.get("data") if isinstance(listed, Mapping) else listed
    found: dict[str, int] = {}
    for row in rows[:_MODELS_KEPT] if isinstance(rows, list) else []:
        if isinstance(row, Mapping) and isinstance(row.get("id"), str):
            size = find_window({}, {**row, "id": ""}, {})
            if size:
                found[row["id"]] = size
    return found
