"""What fills the window: parts that add up to what is sent."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from eunoe import ContextOrchestrator, Conversation, Settings, TokenBudget
from eunoe.pipeline.arranging.sent_parts import SENT_PARTS, tokens_by_part
from strategies import chats

TOOLS = [{"type": "function", "function": {"name": "weigh", "parameters": {}}}]


def talk(turns: int, fact: str = "") -> list[dict[str, Any]]:
    chat = [{"role": "system", "content": "Be brief."}]
    if fact:
        chat += [{"role": "user", "content": fact}, {"role": "assistant", "content": "Noted."}]
    for turn in range(turns):
        chat.append({"role": "user", "content": f"Question {turn}: " + "more " * 30})
        chat.append({"role": "assistant", "content": f"Answer {turn}: " + "fine " * 60})
    return [*chat, {"role": "user", "content": "What is the code of the cellar door?"}]


def parts_of(chat: Any, budget: int = 2000, **more: Any) -> tuple[dict[str, int], Any]:
    engine = ContextOrchestrator(
        TokenBudget(budget), on_overflow="truncate", settings=Settings(read_flags=True)
    )
    result = engine.process_sync(Conversation.from_openai_messages(chat), **more)
    return tokens_by_part(result.placements, result.report), result


def test_a_short_chat_has_its_counted_tokens() -> None:
    chat = talk(2)
    parts, result = parts_of(chat, tools=TOOLS)
    sizes = result.report.decisions.sizes
    assert parts["system"] == sizes[0]
    assert parts["tools"] == result.report.tool_tokens > 0
    assert parts["window"] == sum(sizes[1:5])
    assert parts["question"] >= sizes[5]
    assert list(parts) == [name for name in SENT_PARTS if name in parts]


@pytest.mark.parametrize("profile", ["openai", "template"])
def test_what_is_recalled_is_told_apart_also_inside_the_question(profile: str) -> None:
    fact = "The code of the cellar door is 4711."
    parts, result = parts_of(talk(40, fact), profile=profile)
    assert result.report.recalled > 0
    assert parts["recalled"] >= result.report.decisions[1].tokens - 4
    assert parts["question"] < 40
    assert sum(parts.values()) == result.report.tokens_after


def test_an_empty_list_has_no_parts() -> None:
    assert parts_of([])[0] in ({}, {"question": 3})


@pytest.mark.property
@settings(max_examples=60)
@given(chats())
def test_the_parts_add_up_to_what_is_sent(chat: Any) -> None:
    parts, result = parts_of(chat, 300)
    assert sum(parts.values()) == result.report.tokens_after
    assert min(parts.values(), default=1) > 0
