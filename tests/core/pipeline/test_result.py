"""A result is a value: it may be kept, copied and sent to another process."""

from __future__ import annotations

import copy
import pickle

import pytest

from eunoe import ContextOrchestrator, Conversation, Settings, TokenBudget
from eunoe.pipeline.chat.transcript import PipelineMemory
from strategies import POLICIES, assistant, user


class Notes:
    """Sums up by one line."""

    name = "notes"

    def summarize(self, messages, *, target_ratio=0.3, context_messages=None):
        return "- The rye batches are numbered."


def answer(policy, budget):
    messages = [{"role": "system", "content": "Be kind."}]
    for k in range(60):
        messages += [user(f"Batch {k} of rye has {37 * k} loaves."), assistant("Noted. " * 9)]
    messages.append(user("Which batch has 370 loaves?"))
    by = ContextOrchestrator(
        TokenBudget(budget),
        settings=Settings(policy=policy),
        memory=PipelineMemory(),
        summarizer=Notes(),
        embed_behind=False,
    )
    return by.process_sync(Conversation.from_openai_messages(messages), session_id="a")


@pytest.mark.parametrize(
    "twin", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
@pytest.mark.parametrize("budget", [900, 0])
@pytest.mark.parametrize("policy", POLICIES)
def test_a_copy_says_the_same(policy, budget, twin):
    result = answer(policy, budget)
    same = twin(twin(result))
    assert same.conversation == result.conversation
    assert same.report.to_dict() == result.report.to_dict()
    assert same.report.explain() == result.report.explain()
    assert same.placements == result.placements
    assert same.forecast == result.forecast
    assert same.reported({"prompt_tokens": 7}) == result.reported({"prompt_tokens": 7})
    sent = same.conversation.raw
    assert all(p.message is m for p, m in zip(same.placements, sent, strict=True))
    assert same.due is None
