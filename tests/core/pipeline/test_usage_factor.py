"""What a provider reports of the last request corrects the next one, and nothing else does."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from eunoe import (
    BudgetError,
    ContextOrchestrator,
    Conversation,
    PipelineMemory,
    TokenBudget,
    enter_requests,
)

BUDGET = 1500
WORDS = "river stone light paper "


def make_chat(turns: int, size: int = 12) -> list[dict[str, Any]]:
    chat = [{"role": "system", "content": "Be brief."}]
    for turn in range(turns):
        chat.append({"role": "user", "content": f"Question {turn}: " + WORDS * size})
        chat.append(
            {"role": "assistant", "content": f"Answer {turn}: " + WORDS * (size + turn % 5)}
        )
    return [*chat, {"role": "user", "content": "And now?"}]


def process(chat: Any, usage: Any = None, *, budget: int = BUDGET, **more: Any) -> Any:
    engine = ContextOrchestrator(TokenBudget(budget), memory=PipelineMemory())
    return engine.process_sync(Conversation.from_openai_messages(chat), usage=usage, **more)


def messages_of(result: Any) -> list[Any]:
    return result.conversation.to_openai_messages()


def test_a_provider_that_counts_more_gets_less() -> None:
    chat = make_chat(40)
    plain = process(chat[:-2])
    usage = plain.reported({"prompt_tokens": math.ceil(1.27 * plain.token_count)})
    result = process(chat, usage)
    assert result.report.calibrated == pytest.approx(1.3)
    assert 1.27 * result.token_count <= BUDGET
    assert result.report.budget == BUDGET
    assert "the provider counts up to 1.3 tokens for each of ours" in result.report.explain()
    assert result.report.to_dict()["calibrated"] == pytest.approx(1.3)


def test_without_our_count_the_last_request_is_chosen_anew() -> None:
    chat = make_chat(40)
    plain = process(chat[:-2])
    usage = {"prompt_tokens": math.ceil(1.27 * plain.token_count)}
    assert process(chat, usage).report.calibrated == pytest.approx(1.3)


class Details(BaseModel):
    cached_tokens: int


class ClientUsage(BaseModel):
    prompt_tokens: int
    completion_tokens: int
    prompt_tokens_details: Details | None = None


def test_a_report_is_read_as_a_client_gives_it() -> None:
    chat = make_chat(40)
    plain = process(chat[:-2])
    prompt = math.ceil(1.27 * plain.token_count)
    details = Details(cached_tokens=100)
    usage = ClientUsage(prompt_tokens=prompt, completion_tokens=9, prompt_tokens_details=details)
    assert process(chat, usage).report.calibrated == pytest.approx(1.3)
    assert process(chat, plain.reported(usage)).report.calibrated == pytest.approx(1.3)
    ledger = enter_requests([plain.forecast], model_id="gpt-4o", usage=usage)
    assert ledger == enter_requests([plain.forecast], model_id="gpt-4o", usage=usage.model_dump())
    assert ledger.measured.sent.requests == 1


@pytest.mark.parametrize("usage", [None, {}])
def test_where_nothing_was_reported_nothing_is_corrected(usage: Any) -> None:
    plain = process(make_chat(5))
    assert plain.reported(usage) == {}
    assert process(make_chat(5), plain.reported(usage)).report.warnings == ()


@pytest.mark.parametrize("ratio", [0.6, 0.93, 1.0])
def test_a_provider_that_counts_less_changes_nothing(ratio: float) -> None:
    chat = make_chat(40)
    plain = process(chat[:-2])
    usage = plain.reported({"prompt_tokens": round(ratio * plain.token_count)})
    result = process(chat, usage)
    assert messages_of(result) == messages_of(process(chat))
    assert result.report.to_dict() == process(chat).report.to_dict()


@settings(max_examples=25, deadline=None)
@given(st.floats(0.5, 1.99), st.booleans())
def test_over_a_whole_chat_all_but_the_first_fit_in_the_providers_tokens(
    ratio: float, told: bool
) -> None:
    chat, usage = make_chat(30), None
    engine = ContextOrchestrator(TokenBudget(BUDGET))
    for stop in range(2, len(chat) + 1, 2):
        given_now = Conversation.from_openai_messages(chat[:stop])
        result = engine.process_sync(given_now, usage=usage)
        prompt = math.ceil(ratio * result.token_count)
        if usage is not None:
            assert prompt <= BUDGET
        usage = {"prompt_tokens": prompt}
        if stop < len(chat):
            answer = Conversation.from_openai_messages([chat[stop]])
            size = ContextOrchestrator().process_sync(answer).token_count - 3
            usage["completion_tokens"] = round(ratio * size)
        if told:
            usage = result.reported(usage)


def test_the_same_report_gives_the_same_bytes_warm_and_cold() -> None:
    chat = make_chat(40)
    warm = ContextOrchestrator(TokenBudget(BUDGET))
    for stop in range(2, len(chat) + 1, 2):
        usage = {"prompt_tokens": 1700, "completion_tokens": 80}
        given_now = Conversation.from_openai_messages(chat[:stop])
        once = warm.process_sync(given_now, usage=usage)
        again = warm.process_sync(given_now, usage=usage)
        cold = process(chat[:stop], usage)
        assert messages_of(once) == messages_of(again) == messages_of(cold)
        assert once.report.to_dict() == again.report.to_dict() == cold.report.to_dict()


@pytest.mark.parametrize("usage", [None, {}])
def test_no_report_changes_nothing(usage: Any) -> None:
    chat = make_chat(40)
    assert process(chat, usage).report.to_dict() == process(chat).report.to_dict()
    assert not process(chat, usage).report.warnings


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": "many"},
        {"prompt_tokens": -5},
        {"prompt_tokens": 0},
        {"x": [1]},
        {"prompt_tokens": 10**30},
        {"prompt_tokens": 70},
        {"prompt_tokens": 60_000, "eunoe_counted": 1200},
        ["prompt_tokens"],
        "text",
        7,
    ],
)
def test_nonsense_is_ignored_and_said(usage: Any) -> None:
    chat = make_chat(40)
    result, plain = process(chat, usage), process(chat)
    assert messages_of(result) == messages_of(plain)
    assert len(result.report.warnings) == len(plain.report.warnings) + 1
    assert "usage" in result.report.warnings[-1]
    assert result.report.calibrated == 1


def test_a_first_request_has_nothing_to_be_corrected_by() -> None:
    chat = make_chat(0)
    result = process(chat, {"prompt_tokens": 900})
    assert messages_of(result) == chat
    assert result.report.calibrated == 1


def test_tools_and_the_room_for_the_answer_count_as_the_provider_counts() -> None:
    chat = make_chat(40)
    tools = [{"type": "function", "function": {"name": "look", "description": WORDS * 20}}]
    plain = process(chat[:-2], tools=tools, output_reserve=200)
    usage = plain.reported({"prompt_tokens": math.ceil(1.5 * plain.token_count)})
    result = process(chat, usage, tools=tools, output_reserve=200)
    assert 1.5 * result.token_count + 200 <= BUDGET
    with pytest.raises(BudgetError) as error:
        process(chat, usage, tools=tools, budget=150)
    assert error.value.allowed == 150
    assert error.value.needed > 1.5 * result.report.tool_tokens


def test_a_sum_over_a_tool_loop_is_read_as_its_last_request() -> None:
    chat = make_chat(40)
    plain = process(chat[:-2])
    usage = {"prompt_tokens": plain.token_count, "input_tokens": 3 * plain.token_count}
    assert process(chat, plain.reported(usage)).report.calibrated == 1


def test_the_thinking_of_a_model_is_no_part_of_its_answer() -> None:
    chat = make_chat(40)
    engine = ContextOrchestrator(TokenBudget(BUDGET))
    plain = process(chat[:-2], {"prompt_tokens": 1.0})
    prompt = plain.token_count
    answer = Conversation.from_openai_messages([chat[-2]])
    size = engine.process_sync(answer).token_count - 3
    usage = {
        "prompt_tokens": prompt,
        "completion_tokens": size + 900,
        "completion_tokens_details": {"reasoning_tokens": 900},
    }
    assert process(chat, usage).report.calibrated == 1
