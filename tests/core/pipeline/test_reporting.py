"""The account of a request, and what a chat remembers of its cuts."""

from __future__ import annotations

import pytest

from eunoe import ContextOrchestrator, Conversation, TokenBudget
from eunoe.pipeline.chat.transcript import PipelineMemory


def talk(turns: int) -> list[dict[str, str]]:
    words = "harbour invoice weather error bicycle deadline river memory".split()
    chat = []
    for i in range(turns):
        said = " ".join(words[(i + k) % len(words)] for k in range(12))
        chat.append({"role": "user", "content": f"{i}: {said}?"})
        chat.append({"role": "assistant", "content": f"Noted {i}: {said}."})
    return chat[:-1]


def asked(memory: PipelineMemory, chat: list[dict[str, str]], budget: int):
    orchestrator = ContextOrchestrator(TokenBudget(budget), memory=memory)
    return orchestrator.process_sync(Conversation.from_openai_messages(chat))


def test_sizes_are_those_of_each_message():
    chat = talk(12)
    report = asked(PipelineMemory(), chat, 200).report
    sizes = report.decisions.sizes
    assert len(sizes) == len(report.decisions) == len(chat)
    assert [d.tokens for d in report.decisions] == list(sizes)
    assert sizes[2:5] == [sizes[2], sizes[3], sizes[4]]
    assert sizes[-1] == sizes[len(chat) - 1]
    assert sum(sizes) + 3 == report.tokens_before
    with pytest.raises(IndexError):
        sizes[len(chat)]


def test_a_known_cut_changes_no_answer():
    """Whatever budgets a chat was asked with before."""
    memory = PipelineMemory()
    for turns in range(20, 60, 4):
        for budget in range(1_200, 2_400, 100):
            grown = asked(memory, talk(turns), budget)
            new = asked(PipelineMemory(), talk(turns), budget)
            assert grown.report.to_dict() == new.report.to_dict()
            sent = grown.conversation.to_openai_messages()
            assert sent == new.conversation.to_openai_messages()
    assert all(0 < len(chat.cuts) <= 8 for chat in memory.chats._chats)
