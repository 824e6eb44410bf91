"""The valve "Observer address": a page is told of each request, and no request of the page."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest

from eunoe.domain.event import RequestEvent
from eunoe.domain.report import DecisionList, Report
from eunoe.stages.accounting.ledger import Account, Ledger, Tally
from eunoe_openwebui.observed import FilterWatch
from eunoe_openwebui.valves import FilterValves
from model_server import ModelServer, running_server

SECRET = "xylophone"
WORDS = f"river stone {SECRET} paper "


@pytest.fixture
def page() -> Iterator[ModelServer]:
    """Takes in what is posted."""
    with running_server() as server:
        server.statuses = [204] * 1000
        yield server


def place(page: ModelServer) -> str:
    return page.url.removesuffix("/v1")


def records_of(plugin: Any, page: ModelServer) -> list[dict[str, Any]]:
    assert plugin.instance._watch._observer.drain()
    return [record for _, _, records in page.asked for record in records]


def ask(plugin: Any, messages: list[Any], metadata: dict[str, Any], **valves: Any) -> list[Any]:
    given = {"valves": {"max_tokens": 2000, **valves}, "__metadata__": metadata}
    body = plugin.call("request", {"model": "gpt-4o", "messages": list(messages)}, **given)
    return list(body["messages"])


def answer(plugin: Any, metadata: dict[str, Any], usage: Any, **valves: Any) -> None:
    told = {"role": "assistant", "content": "Yes.", **({"usage": usage} if usage else {})}
    given = {"valves": {"max_tokens": 2000, **valves}, "__metadata__": metadata}
    plugin.call("outlet", {"model": "gpt-4o", "messages": [told]}, **given)


def long_talk(turns: int = 40) -> list[dict[str, Any]]:
    chat = []
    for turn in range(turns):
        chat.append({"role": "user", "content": f"Question {turn}? " + WORDS * 20})
        chat.append({"role": "assistant", "content": f"Answer {turn}. " + WORDS * 20})
    return [*chat, {"role": "user", "content": f"And {SECRET}?"}]


def test_a_turn_is_told_of_when_chosen_and_when_reported(plugin: Any, page: ModelServer) -> None:
    metadata: dict[str, Any] = {"chat_id": "c"}
    ask(plugin, long_talk(), metadata, observer_url=place(page))
    counted = metadata["eunoe"]["counted"]
    answer(plugin, metadata, {"prompt_tokens": counted}, observer_url=place(page))
    chosen, reported = records_of(plugin, page)
    assert chosen["key"] == reported["key"] != ""
    assert (chosen["source"], chosen["session"], chosen["model"]) == ("Open WebUI", "c", "gpt-4o")
    assert chosen["after"] == counted
    assert chosen["fates"].count("d") > 0
    assert chosen["ledger"]["estimated.sent.requests"] == 1
    assert reported["ledger"]["measured.sent.prompt"] == counted
    assert not any(name.startswith("estimated") for name in reported["ledger"])
    assert reported["milliseconds"]["choosing"] > 0
    assert not any(SECRET.encode() in data for data in page.raw)


def test_the_steps_of_a_tool_loop_are_entered_once(plugin: Any, page: ModelServer) -> None:
    metadata: dict[str, Any] = {"chat_id": "c"}
    sent = ask(plugin, long_talk(), metadata, observer_url=place(page))
    call = {"id": "c0", "type": "function", "function": {"name": "a", "arguments": "{}"}}
    sent = [*sent, {"role": "assistant", "content": "", "tool_calls": [call]}]
    sent = [*sent, {"role": "tool", "tool_call_id": "c0", "content": WORDS}]
    ask(plugin, sent, metadata, observer_url=place(page))
    answer(plugin, metadata, None, observer_url=place(page))
    records = records_of(plugin, page)
    assert len(records) == 4
    newest = {record["key"]: record for record in records}
    assert sorted(r["ledger"].get("estimated.sent.requests", 0) for r in newest.values()) == [0, 2]


def test_by_default_and_after_a_wrong_address_nobody_is_told(
    plugin: Any, page: ModelServer, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG, "eunoe"):
        for valves in ({}, {"observer_url": "none"}, *[{"observer_url": f"x {SECRET}"}] * 3):
            metadata: dict[str, Any] = {"chat_id": "c"}
            ask(plugin, long_talk(), metadata, **valves)
            answer(plugin, metadata, None, **valves)
    assert page.asked == []
    assert [line for line in caplog.messages if "address" in line] == [
        "the observer's address is not used: SettingsError"
    ]
    assert SECRET not in caplog.text


def test_what_is_sent_is_the_same_with_and_without(plugin: Any, page: ModelServer) -> None:
    alone = ask(plugin, long_talk(), {"chat_id": "a"})
    assert ask(plugin, long_talk(), {"chat_id": "b"}, observer_url=place(page)) == alone
    page.statuses = [500]
    assert ask(plugin, long_talk(), {"chat_id": "d"}, observer_url=place(page)) == alone
    assert ask(plugin, long_talk(), {"chat_id": "e"}, observer_url="http://127.0.0.1:9") == alone


def test_a_failure_is_told_of(
    plugin: Any, page: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*given: Any) -> None:
        raise RuntimeError(SECRET)

    monkeypatch.setattr(plugin.instance, "_work", fail)
    ask(plugin, long_talk(), {"chat_id": "c"}, observer_url=place(page))
    [record] = records_of(plugin, page)
    assert record["warnings"] == ["it went through as it came: failed (RuntimeError)"]
    assert (record["session"], record["fates"]) == ("c", "")


def test_a_refusal_is_told_of(plugin: Any, page: ModelServer) -> None:
    too_long = [{"role": "user", "content": WORDS * 2000}]
    with pytest.raises(Exception, match="does not fit"):
        ask(plugin, too_long, {"chat_id": "c"}, observer_url=place(page), on_overflow="refuse")
    [record] = records_of(plugin, page)
    assert record["warnings"][0].startswith("it was refused: ")
    assert not any(SECRET.encode() in data for data in page.raw)


class Notebook:
    def __init__(self, url: str) -> None:
        self.url, self.events = url, []  # type: ignore[var-annotated]

    def observe(self, event: RequestEvent) -> None:
        self.events.append(event)


def event(key: str, source: str) -> RequestEvent:
    report = Report(decisions=DecisionList((), {}), tokens_before=1, tokens_after=1, budget=9)
    return RequestEvent(report=report, key=key, source=source)


ENTRY = Ledger(estimated=Account(sent=Tally(requests=1, prompt=5)))


def test_turns_that_are_never_answered_are_forgotten() -> None:
    watch, valves = FilterWatch(Notebook), FilterValves(observer_url="here")
    for turn in range(100):
        for _ in range(50):
            watch.chosen(valves, f"t{turn}", event)
    assert len(watch._turns) == 64
    assert {len(steps) for steps in watch._turns.values()} == {32}
    watch.answered(valves, "t0", ENTRY)
    watch.answered(valves, "t99", Ledger())
    notebook: Any = watch.observer(valves)
    assert len(notebook.events) == 5000
    watch.answered(valves, "t98", ENTRY)
    assert len(notebook.events) == 5032
    assert [bool(e.ledger) for e in notebook.events[5000:]] == [False] * 31 + [True]


def test_another_address_is_another_observer() -> None:
    watch = FilterWatch(Notebook)
    first = watch.observer(FilterValves(observer_url="a"))
    assert watch.observer(FilterValves(observer_url=" a ")) is first
    assert watch.observer(FilterValves(observer_url="b")) is not first
    assert watch.observer(FilterValves()) is None


def test_models_that_answer_side_by_side_are_told_apart(plugin: Any, page: ModelServer) -> None:
    ways: list[dict[str, Any]] = [{"chat_id": "c", "message_id": name} for name in "ab"]
    for metadata in ways:
        ask(plugin, long_talk(), metadata, observer_url=place(page))
    for number, metadata in enumerate(ways):
        usage = {"prompt_tokens": 1000 + number}
        answer(plugin, metadata, usage, observer_url=place(page))
    newest = {record["key"]: record for record in records_of(plugin, page)}
    charged = [record["ledger"]["measured.sent.prompt"] for record in newest.values()]
    assert charged == [1000, 1001]
