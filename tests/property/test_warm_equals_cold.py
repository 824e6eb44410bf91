"""Law: what an orchestrator saw before never changes an answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ask import ask, bytes_of, orchestrator, sent_by
from eunoe import BudgetError
from eunoe.pipeline.chat.transcript import PipelineMemory
from judge import ThirdsCounter, count_list
from strategies import Raw, chats, policies, profiles

pytestmark = pytest.mark.property


def answer(messages, budget, profile, policy, by) -> str:
    """List and report as bytes, but whether a cut is declared: who answered before knows more."""
    try:
        result = ask(messages, budget, profile, policy=policy, by=by)
    except BudgetError as error:
        return f"needed {error.needed} of {error.allowed}"
    report = result.report.to_dict()
    if report["cut"]:
        del report["cut"]["declared"]
    return bytes_of([sent_by(result), report])


def histories(messages: list[Raw], other: list[Raw], place: int) -> list[list[Raw]]:
    """Chats that an orchestrator may have seen before this one."""
    place %= len(messages) + 1
    edited = [dict(m) for m in messages]
    if edited:
        edited[place % len(edited)] = {"role": "user", "content": "edited"}
    return [
        messages[:place],
        other,
        [*messages[:place], *other],
        edited,
        messages[:-1],
        [*messages[:-1], {"role": "assistant", "content": "another answer"}],
        [*messages, {"role": "assistant", "content": "fine"}, {"role": "user", "content": "more?"}],
        messages,
    ]


@settings(max_examples=80)
@given(
    messages=chats(flags=True, odd=True),
    other=chats(most_steps=4),
    place=st.integers(0, 60),
    profile=profiles,
    policy=policies,
    share=st.integers(5, 105),
    pasts=st.lists(st.tuples(st.integers(0, 7), profiles, policies), max_size=10),
)
def test_an_orchestrator_with_a_past_answers_as_a_new_one(
    messages, other, place, profile, policy, share, pasts
):
    budget = max(1, count_list(messages) * share // 100)
    warm = orchestrator(budget)
    past = histories(messages, other, place)
    for which, earlier_profile, earlier_policy in pasts:
        answer(past[which], budget, earlier_profile, earlier_policy, warm)
    cold = answer(messages, budget, profile, policy, orchestrator(budget))
    assert answer(messages, budget, profile, policy, warm) == cold


@settings(max_examples=30)
@given(messages=chats(flags=True, most_steps=20), profile=profiles, policy=policies)
def test_a_chat_asked_message_by_message_answers_as_a_new_one(messages, profile, policy):
    budget = count_list(messages) // 3 + 20
    warm = orchestrator(budget)
    for stop in range(1, len(messages) + 1):
        heard = answer(messages[:stop], budget, profile, policy, warm)
        if stop % 5 == 0 or stop == len(messages):
            assert heard == answer(messages[:stop], budget, profile, policy, orchestrator(budget))


class OtherCounter:
    """Counts every character, and asks about the same chat whenever it is asked."""

    name = "characters"
    exact = True

    def count(self, text: str) -> int:
        """Tokens of a text."""
        return len(text)

    def count_batch(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text."""
        return [len(text) for text in texts]


class InterruptedCounter(ThirdsCounter):
    """Lets another request run while it counts, as another thread might."""

    def __init__(self, meanwhile: Callable[[], object]) -> None:
        self.meanwhile: Callable[[], object] | None = None
        self.then = meanwhile

    def count_batch(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text."""
        if self.meanwhile is not None:
            meanwhile, self.meanwhile = self.meanwhile, None
            meanwhile()
            self.meanwhile = meanwhile
        return super().count_batch(texts)


@settings(max_examples=40)
@given(messages=chats(most_steps=8), profile=profiles, policy=policies, share=st.integers(20, 110))
def test_requests_that_count_otherwise_may_run_at_the_same_time(messages, profile, policy, share):
    budget = max(1, count_list(messages) * share // 100)
    cold = answer(messages, budget, profile, policy, orchestrator(budget))
    memory = PipelineMemory()
    other = orchestrator(budget, counter=OtherCounter(), memory=memory, on_overflow="keep")
    counter = InterruptedCounter(lambda: answer(messages, budget, profile, policy, other))
    mine = orchestrator(budget, counter=counter, memory=memory)
    counter.meanwhile = counter.then
    assert answer(messages, budget, profile, policy, mine) == cold
    assert answer(messages, budget, profile, policy, mine) == cold
