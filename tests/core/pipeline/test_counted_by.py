"""A caller's counter that fails holds no request up, and what it counted counts no longer."""

from __future__ import annotations

import math

import pytest

from ask import ask, orchestrator, sent_by
from eunoe import Conversation
from eunoe.pipeline.chat.transcript import PipelineMemory
from eunoe.stages.counting.tokenizer import model_counter
from judge import ThirdsCounter
from strategies import POLICIES, assistant, user

OWN = model_counter(None, scale_by_family=False)
TOOLS = [{"type": "function", "function": {"name": "bake", "parameters": {}}}]


def chat(turns=40):
    messages = [{"role": "system", "content": "Be kind."}]
    for k in range(turns):
        messages += [user(f"Batch {k} has {37 * k} loaves of rye."), assistant("Noted. " * 9)]
    return [*messages, user("Which batch has 370 loaves?")]


class Odd(ThirdsCounter):
    """Answers or raises the same at each text, once it has counted so many."""

    def __init__(self, answer, good=0):
        self.name = f"odd {answer!r}"
        self.answer, self.good = answer, good

    def count(self, text):
        self.good -= 1
        if self.good >= 0:
            return super().count(text)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.mark.parametrize("good", [0, 1, 30])
@pytest.mark.parametrize("answer", [LookupError("gone"), None, math.nan, -7, "5"], ids=repr)
def test_our_own_count_takes_over_from_one_that_fails(answer, good):
    by = orchestrator(900, counter=Odd(answer, good))
    said = Conversation.from_openai_messages(chat())
    odd = by.process_sync(said, tools=TOOLS)
    plain = orchestrator(900, counter=OWN).process_sync(said, tools=TOOLS)
    (warning,) = odd.report.warnings
    assert warning.startswith("the token counter failed (")
    assert odd.conversation == plain.conversation
    assert odd.report.tokens_after == plain.report.tokens_after
    assert odd.report.tokenizer == plain.report.tokenizer


@pytest.mark.parametrize("policy", POLICIES)
def test_every_policy_goes_on(policy):
    by = orchestrator(900, counter=Odd(None, 85), policy=policy)
    said = Conversation.from_openai_messages(chat())
    for _ in range(3):
        answer = by.process_sync(said, usage={"prompt_tokens": 700})
        assert answer.conversation.raw
        assert 0 < answer.report.tokens_after <= (900 if policy != "off" else 9_000)


def test_what_was_counted_before_a_fault_is_not_mixed_with_ours():
    memory, messages = PipelineMemory(), chat()
    counter = Odd(OSError("gone"), 30)
    by = orchestrator(900, counter=counter, memory=memory)
    assert ask(messages, 900, by=by).report.warnings
    counter.good = 10**9
    healed = ask(messages, 900, by=by)
    fresh = ask(messages, 900)
    assert not healed.report.warnings
    assert sent_by(healed) == sent_by(fresh)
    assert healed.report.tokens_after == fresh.report.tokens_after


def test_a_counter_is_no_reason_to_keep_an_interrupt():
    class Interrupted(ThirdsCounter):
        def count_batch(self, texts):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ask(chat(), 900, by=orchestrator(900, counter=Interrupted()))
