"""Observers of a HistoryOptimizer, and what the name of a thread tells."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest
from langchain_core.messages import SystemMessage

from eunoe import RequestEvent
from eunoe_langchain import HistoryOptimizer
from langchain_lists import ai, human

WORDS = "river stone light paper " * 20


class Notebook:
    def __init__(self) -> None:
        self.events: list[RequestEvent] = []

    def observe(self, event: RequestEvent) -> None:
        self.events.append(event)


def make_chat(turns: int, system: str = "Be brief.") -> list[Any]:
    chat: list[Any] = [SystemMessage(system)]
    for turn in range(turns):
        chat += [human(f"Question {turn}: {WORDS}"), ai(f"Answer {turn}: {WORDS}")]
    return [*chat, human("And now?")]


def in_thread(name: str) -> Any:
    return {"configurable": {"thread_id": name}}


@pytest.mark.parametrize("counter", ["approximate", "exact", len])
def test_each_request_is_one_event(counter: Any) -> None:
    notebook = Notebook()
    limit = 12 if counter is len else 1500
    optimizer = HistoryOptimizer(
        max_tokens=limit, observer=notebook, token_counter=counter, model_id="gpt-4o"
    )
    optimizer.invoke(make_chat(20))
    asyncio.run(optimizer.ainvoke(make_chat(20), in_thread("t-each")))
    optimizer.explain(make_chat(20))
    first, second = notebook.events
    assert first.report.to_dict() == second.report.to_dict()
    assert (first.session_id, second.session_id) == ("", "t-each")
    assert first.model_id == "gpt-4o"
    assert first.ledger["estimated.sent.requests"] == 1
    assert first.milliseconds["planning"] >= 0
    assert first.report.budget == limit
    assert "river" not in repr(first)


def test_a_thread_is_told_why_its_cache_was_lost() -> None:
    notebook = Notebook()
    optimizer = HistoryOptimizer(max_tokens=8000, observer=notebook)
    thread = in_thread("t-lost")
    optimizer.invoke(make_chat(15, "It is 10:01."), thread)
    changed = make_chat(16, "It is 10:02.")
    lost = "the system prompt changed at byte 10"
    assert optimizer.explain(changed).cache_lost == ""  # whose chat is not said
    for _ in range(2):  # to explain is not to send
        assert optimizer.explain(changed, thread).cache_lost == lost
    optimizer.invoke(changed, thread)
    optimizer.invoke(make_chat(17, "It is 10:02."), thread)
    assert [event.report.cache_lost for event in notebook.events] == ["", lost, ""]


def test_a_broken_observer_harms_nothing(caplog: pytest.LogCaptureFixture) -> None:
    class Broken:
        def observe(self, event: RequestEvent) -> None:
            raise RuntimeError("xylophone")

    chat = make_chat(20)
    with caplog.at_level(logging.DEBUG, "eunoe"):
        sent = HistoryOptimizer(max_tokens=1500, observer=Broken()).invoke(chat)
    assert sent == HistoryOptimizer(max_tokens=1500).invoke(chat)
    assert "xylophone" not in caplog.text


def test_what_is_no_observer_is_refused_where_it_is_set() -> None:
    with pytest.raises(ValueError, match="observe"):
        HistoryOptimizer(max_tokens=100, observer="me")
