"""The proxy tells an observer of each chat request, beside it."""

from __future__ import annotations

import json
import time
from typing import Any

import httpx

from eunoe import RequestEvent
from eunoe_observer import EventLog
from events import Notebook
from proxied import DONE, event, talk

USAGE = {
    "prompt_tokens": 1400,
    "completion_tokens": 20,
    "prompt_tokens_details": {"cached_tokens": 1024},
}


def wait_for(notebook: Notebook, number: int) -> list[RequestEvent]:
    end = time.monotonic() + 10
    while len(notebook.events) < number:
        assert time.monotonic() < end, notebook.events
        time.sleep(0.02)
    time.sleep(0.1)
    assert len(notebook.events) == number
    return notebook.events


def last_of(notebook: Notebook) -> RequestEvent:
    """What was told once the answer was there; of a quick answer the choice is not told apart."""
    end = time.monotonic() + 10
    while not notebook.events or "answer" not in notebook.events[-1].milliseconds:
        assert time.monotonic() < end, notebook.events
        time.sleep(0.02)
    time.sleep(0.1)
    assert "answer" in notebook.events[-1].milliseconds  # nothing is told after it
    return notebook.events[-1]


def test_a_request_is_told_of_when_chosen_and_when_answered(upstream: Any, proxy: Any) -> None:
    notebook = Notebook()
    upstream.delay = 0.5
    upstream.answer = json.dumps({"choices": [], "usage": USAGE})
    running = proxy(max_tokens=1500, observer=notebook)
    answer = running.ask(talk(40), {"X-Eunoe-Session": "office"})
    chosen, answered = wait_for(notebook, 2)
    assert (chosen.key, chosen.source) == (answered.key, "proxy")
    assert chosen.key
    assert (chosen.session_id, chosen.model_id) == ("office", "gpt-4o")
    assert chosen.report.tokens_after == int(answer.headers["x-eunoe-tokens-after"])
    assert chosen.ledger["estimated.sent.requests"] == 1
    assert answered.ledger["measured.sent.prompt"] == 1400
    assert answered.ledger["measured.sent.cached"] == 1024
    assert not any(name.startswith("estimated") for name in answered.ledger)
    stages = ["reading", "choosing", "fitting", "reporting", "writing"]
    assert list(chosen.milliseconds) == stages
    assert list(answered.milliseconds) == [*stages, "answer"]
    assert chosen.roles[0] == "system"
    assert sum(chosen.parts.values()) == chosen.report.tokens_after


def test_a_stream_is_told_of_before_it_ends(upstream: Any, proxy: Any) -> None:
    notebook = Notebook()

    def pieces(body: Any) -> Any:
        yield event(choices=[])
        wait_for(notebook, 1)
        yield event(choices=[], usage=USAGE)
        yield DONE

    upstream.pieces = pieces
    running = proxy(max_tokens=1500, observer=notebook)
    running.ask(talk(3), stream=True)
    assert wait_for(notebook, 2)[1].ledger["measured.sent.requests"] == 1


def test_a_refused_request_cost_nothing(upstream: Any, proxy: Any) -> None:
    notebook = Notebook()
    upstream.statuses = [429]
    running = proxy(observer=notebook)
    assert running.ask(talk(2)).status_code == 429
    answered = last_of(notebook)
    assert answered.ledger == {}
    assert answered.report.warnings == ("the server refused it: status 429",)


def test_a_request_that_was_not_looked_at_says_so(upstream: Any, proxy: Any) -> None:
    notebook = Notebook()
    running = proxy(observer=notebook, largest_body=100)
    running.ask(talk(2))
    [told] = wait_for(notebook, 1)
    assert told.report.warnings == ("it went through as it came: too large",)
    assert len(told.report.decisions) == 0


def test_a_refusal_of_ours_is_told_of(upstream: Any, proxy: Any) -> None:
    notebook = Notebook()
    running = proxy(max_tokens=50, on_overflow="refuse", observer=notebook)
    assert running.ask([{"role": "user", "content": "word " * 500}]).status_code == 400
    [told] = wait_for(notebook, 1)
    assert told.report.warnings[0].startswith("it was refused: ")


def test_an_observer_that_fails_harms_nothing(upstream: Any, proxy: Any) -> None:
    class Broken:
        def observe(self, event: RequestEvent) -> None:
            raise RuntimeError

    running = proxy(max_tokens=1500, observer=Broken())
    alone = proxy(max_tokens=1500)
    chat = talk(40)
    for one in (running, alone):
        assert one.ask(chat).status_code == 200
    assert upstream.raw[0] == upstream.raw[1]
    running.wait_for('eunoe_requests_total{outcome="answered"}', 1)


def test_a_log_shows_one_row_a_request(upstream: Any, proxy: Any) -> None:
    log = EventLog()
    upstream.answer = json.dumps({"choices": [], "usage": USAGE})
    running = proxy(max_tokens=1500, observer=log)
    for turns in (2, 40):
        running.ask(talk(turns))
    end = time.monotonic() + 10
    while log.news()["totals"].get("measured.sent.requests", 0) < 2:
        assert time.monotonic() < end
        time.sleep(0.02)
    assert [row["n"] for row in log.news()["events"]] == [1, 2]
    assert log.news()["totals"]["measured.sent.prompt"] == 2800


def test_the_command_shows_the_page(upstream: Any, command: Any) -> None:
    process, url = command("--port", "0", "--observe")
    assert process.stdout.readline() == f"eunoe observe: {url.removesuffix('/v1')}/observe/\n"
    page = httpx.get(f"{url.removesuffix('/v1')}/observe", follow_redirects=True)
    assert b"eunoe observe" in page.content
    upstream.answer = json.dumps({"choices": [], "usage": USAGE})
    assert httpx.post(f"{url}/chat/completions", json={"messages": talk(2)}).status_code == 200
    with httpx.stream("GET", f"{page.url}stream", timeout=10) as answer:
        lines = (line for line in answer.iter_lines() if line.startswith("data: "))
        assert any('"measured.sent.prompt":1400' in line for line in lines)
        process.terminate()
    assert process.wait(20) == 0
