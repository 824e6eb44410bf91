"""How long a request takes: ``make bench``. Numbers to look at, nothing is asserted of them."""

from __future__ import annotations

import random
from typing import Any

import pytest

from eunoe import ContextOrchestrator, Conversation, TokenBudget
from make_filter import TARGET
from plugin_host import load_plugin

pytestmark = pytest.mark.bench

WORDS = "harbour invoice weather error bicycle deadline budget river memory answer".split()


def long_chat(messages: int) -> list[dict[str, Any]]:
    """Return a chat of ``messages`` messages of some 40 words that ends with a question."""
    source = random.Random(7)
    roles = ("user", "assistant")
    chat = [
        {"role": roles[i % 2], "content": f"{i}: " + " ".join(source.choices(WORDS, k=40))}
        for i in range(messages)
    ]
    return [*chat, {"role": "user", "content": "What did we say about invoice 17 and the river?"}]


def answer(orchestrator: ContextOrchestrator, chat: list[dict[str, Any]]) -> int:
    result = orchestrator.process_sync(Conversation.from_openai_messages(chat), model_id="gpt-4o")
    return len(result.placements)


@pytest.mark.parametrize("messages", [60, 600, 6000])
def test_first_request_of_a_chat(benchmark, messages: int):
    chat = long_chat(messages)
    benchmark.pedantic(
        lambda: answer(ContextOrchestrator(budget=TokenBudget(max_tokens=4000)), chat), rounds=5
    )


@pytest.mark.parametrize("messages", [60, 600, 6000])
def test_next_request_of_a_chat(benchmark, messages: int):
    chat = long_chat(messages)
    orchestrator = ContextOrchestrator(budget=TokenBudget(max_tokens=4000))
    answer(orchestrator, chat)
    benchmark.pedantic(lambda: answer(orchestrator, chat), rounds=20)


def test_load_of_the_single_file(benchmark):
    text = TARGET.read_text(encoding="utf-8")
    benchmark.pedantic(lambda: load_plugin(text), rounds=5)
