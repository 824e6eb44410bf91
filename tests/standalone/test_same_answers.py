"""The single file answers as the packages do."""

from __future__ import annotations

import types
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eunoe.domain.budget import TokenBudget
from eunoe.domain.conversation import Conversation
from eunoe.pipeline.orchestrator import ContextOrchestrator
from make_filter import TARGET
from plugin_host import load_plugin

TOPICS = [
    "the harbour",
    "Zoë's invoice 4711",
    "東京の天気",
    "error E42 in parse()",
    "a red bicycle",
]
WORDS = st.lists(st.sampled_from(TOPICS), min_size=1, max_size=12).map("; ".join)


@st.composite
def chats(draw: st.DrawFn) -> list[dict[str, Any]]:
    """A system message and turns of question, now and then a tool call, and answer."""
    chat: list[dict[str, Any]] = [{"role": "system", "content": "Be brief."}]
    for turn in range(draw(st.integers(1, 12))):
        chat.append({"role": "user", "content": draw(WORDS)})
        if draw(st.booleans()):
            call = {"name": "look_up", "arguments": "{}"}
            calls = [{"id": f"call_{turn}", "type": "function", "function": call}]
            chat.append({"role": "assistant", "content": None, "tool_calls": calls})
            chat.append({"role": "tool", "tool_call_id": f"call_{turn}", "content": draw(WORDS)})
        chat.append({"role": "assistant", "content": draw(WORDS)})
    return [*chat, {"role": "user", "content": draw(WORDS)}]


@pytest.fixture(scope="module")
def single() -> types.ModuleType:
    return load_plugin(TARGET.read_text(encoding="utf-8"))


def answer(
    orchestrator: type, conversation: type, budget: type, chat: list[dict[str, Any]], tokens: int
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return what is sent and what is reported."""
    made = orchestrator(budget=budget(max_tokens=tokens), on_overflow="truncate")
    result = made.process_sync(conversation.from_openai_messages(chat), model_id="gpt-4o")
    return result.conversation.to_openai_messages(), result.report.to_dict()


@pytest.mark.property
@settings(max_examples=40)
@given(chat=chats(), tokens=st.integers(60, 1500))
def test_same_messages_and_same_report(
    single: types.ModuleType, chat: list[dict[str, Any]], tokens: int
):
    expected = answer(ContextOrchestrator, Conversation, TokenBudget, chat, tokens)
    names = (single.ContextOrchestrator, single.Conversation, single.TokenBudget)
    assert answer(*names, chat, tokens) == expected
