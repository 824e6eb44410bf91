"""An observer is told of each request, and no request is told of an observer."""

from __future__ import annotations

import logging
import pickle
from typing import Any

import pytest

from eunoe import (
    BudgetError,
    ContextOrchestrator,
    Conversation,
    Ledger,
    RequestEvent,
    TokenBudget,
    enter_requests,
)
from eunoe.pipeline.accounts.observing import request_event

SECRET = "xylophone"


class Notebook:
    def __init__(self) -> None:
        self.events: list[RequestEvent] = []

    def observe(self, event: RequestEvent) -> None:
        self.events.append(event)


def make_chat(turns: int, system: str = f"Be brief, {SECRET}.") -> list[dict[str, Any]]:
    chat = [{"role": "system", "content": system}]
    for turn in range(turns):
        chat.append({"role": "user", "content": f"Question {turn} {SECRET}: " + "more " * 30})
        chat.append({"role": "assistant", "content": f"Answer {turn} {SECRET}: " + "fine " * 90})
    return [*chat, {"role": "user", "content": f"And {SECRET}?"}]


def process(observer: Any, chat: Any, budget: int = 4000, **more: Any) -> Any:
    engine = ContextOrchestrator(TokenBudget(budget), observer=observer)
    return engine.process_sync(Conversation.from_openai_messages(chat), model_id="gpt-4o", **more)


def test_an_event_holds_the_figures_of_the_request_and_no_text() -> None:
    notebook = Notebook()
    result = process(notebook, make_chat(60), session_id="c")
    (event,) = notebook.events
    assert event.report.to_dict() == result.report.to_dict()
    assert (event.model_id, event.session_id) == ("gpt-4o", "c")
    assert event.forecast["sent"] == result.token_count
    assert event.forecast["untouched"] > event.forecast["sent"]
    entry = Ledger.from_flat(event.ledger)
    assert entry.estimated.sent.prompt == result.token_count
    assert entry.estimated.sent.cost > 0
    assert list(event.milliseconds) == ["reading", "choosing", "fitting", "reporting"]
    assert min(event.milliseconds.values()) >= 0
    assert SECRET not in repr(event)
    assert SECRET not in str(event.report.to_dict())


@pytest.mark.parametrize("flag", ["target", "policy", "weight", "pin"])
def test_the_value_of_a_flag_is_text_of_its_user(flag: str) -> None:
    notebook = Notebook()
    chat = [{"role": "user", "content": f"!{flag}={SECRET}:allowed Hello."}]
    result = process(notebook, chat)
    (event,) = notebook.events
    assert SECRET in result.report.warnings[0]
    assert SECRET not in str(event.report.to_dict())
    assert event.report.warnings[0].startswith(f"the 1st message: !{flag}=…: ")


def test_what_is_sent_is_the_same_with_and_without() -> None:
    chat = make_chat(60)
    watched, alone = process(Notebook(), chat), process(None, chat)
    assert watched.report.to_dict() == alone.report.to_dict()
    assert watched.conversation == alone.conversation


def test_a_fault_of_the_observer_is_logged_without_its_words(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Broken:
        def observe(self, event: RequestEvent) -> None:
            raise RuntimeError(SECRET)

    with caplog.at_level(logging.DEBUG, "eunoe"):
        assert process(Broken(), make_chat(3)).token_count
    assert "the observer failed: RuntimeError" in caplog.text
    assert SECRET not in caplog.text


def test_a_lost_prompt_cache_is_told_of_chats_with_a_name() -> None:
    notebook = Notebook()
    engine = ContextOrchestrator(TokenBudget(8000), observer=notebook)
    for turns, system in ((14, "It is 10:01."), (15, "It is 10:02."), (16, "It is 10:02.")):
        for session in ("c", None):
            chat = Conversation.from_openai_messages(make_chat(turns, system))
            engine.process_sync(chat, session_id=session)
    told = [(event.session_id, event.report.cache_lost) for event in notebook.events]
    lost = "the system prompt changed at byte 10"
    assert told == [("c", ""), ("", ""), ("c", lost), ("", ""), ("c", ""), ("", "")]
    assert f"prompt cache lost: {lost}" in notebook.events[2].report.explain()


def test_a_report_of_usage_is_one_event_with_a_stage_of_its_own() -> None:
    notebook, chat = Notebook(), make_chat(60)
    process(notebook, chat, usage={"prompt_tokens": 4800})
    (event,) = notebook.events
    assert list(event.milliseconds) == ["correcting", "reading", "choosing", "fitting", "reporting"]


def test_a_refused_request_is_no_event() -> None:
    notebook = Notebook()
    with pytest.raises(BudgetError):
        process(notebook, make_chat(3), budget=10)
    assert notebook.events == []


@pytest.mark.parametrize("model_id", ["gpt-4o", "my-own-model"])
def test_the_report_of_an_event_and_its_ledger_say_the_same_of_money(model_id: str) -> None:
    notebook = Notebook()
    engine = ContextOrchestrator(TokenBudget(4000), observer=notebook)
    chat = Conversation.from_openai_messages(make_chat(60))
    result = engine.process_sync(chat, model_id=model_id)
    (event,) = notebook.events
    cost, account = event.report.cost, Ledger.from_flat(event.ledger).estimated
    assert cost is not None
    assert cost == result.report.cost
    for way, tally in ((cost.sent, account.sent), (cost.window, account.window)):
        assert (way.prompt, way.cached) == (tally.prompt, tally.cached)
        assert way.usd == (None if tally.unpriced else tally.cost_usd)
    assert SECRET.encode() not in pickle.dumps(event)


def test_what_was_reported_takes_the_place_of_the_estimate_in_the_report_too() -> None:
    chat = make_chat(20)
    result = process(None, chat)
    usage = {"prompt_tokens": 3000, "completion_tokens": 50}
    ledger = enter_requests([result.forecast], model_id="gpt-4o", usage=usage)
    prices = ContextOrchestrator().prices

    def told(entry: Ledger | None) -> RequestEvent:
        return request_event(result, result.report, chat, prices, "gpt-4o", "c", {}, ledger=entry)

    measured = told(ledger).report.cost
    assert measured is not None
    assert measured.measured
    assert measured.sent.usd == ledger.measured.sent.cost_usd
    for nothing in (None, Ledger(), ledger + ledger):  # of a turn of two, the request's own
        assert told(nothing).report.cost == result.report.cost
