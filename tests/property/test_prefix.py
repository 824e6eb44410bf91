"""Law: each view is a prefix of the next, but for the question's own part and declared cuts."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ask import ask, bytes_of
from eunoe import BudgetError, OrchestratorResult
from judge import count_list, is_blank, said
from strategies import Raw, chats, profiles

pytestmark = pytest.mark.property

FREE_ORDER = st.sampled_from(
    ["openai", "responses", "anthropic", "gemini", "deepseek", "permissive"]
)


def requests_of(messages: list[Raw]) -> list[int]:
    """Places before which a model call is made: before each answer, and at the end."""
    return [i for i, m in enumerate(messages) if i and m["role"] == "assistant"] + [len(messages)]


def asks(message: Raw) -> bool:
    """A question of the user; pictures that a host shows after tool results are none."""
    return (
        message["role"] == "user"
        and not is_blank(message)
        and "tool results above" not in said(message)
    )


def lasting(messages: list[Raw], result: OrchestratorResult) -> list[str]:
    """The view without the question and what was quoted for it.

    A window that was shrunk for one question's recall grows back at the next one.
    """
    asked = [i for i, m in enumerate(messages) if asks(m)]
    kept = []
    for placement in result.placements:
        if asked and placement.index is not None and placement.index >= asked[-1]:
            break
        kept.append(placement)
    while kept and kept[-1].index is None and kept[-1].message["role"] == "user":
        kept.pop()
    return [bytes_of(placement.message) for placement in kept]


@settings(max_examples=60)
@given(
    messages=chats(poison=False, most_steps=25),
    profile=FREE_ORDER,
    share=st.integers(20, 90),
    high=st.sampled_from([1.0, 1.0, 0.9, 0.7]),
)
def test_views_only_grow_between_declared_cuts(messages, profile, share, high):
    budget = count_list(messages) * share // 100
    before: list[str] = []
    for stop in requests_of(messages):
        try:
            result = ask(messages[:stop], budget, profile, recall="never", high_water=high)
        except BudgetError:
            before = []
            continue
        now = [bytes_of(p.message) for p in result.placements]
        cut = result.report.cut
        if cut is None or not cut.declared:
            assert now[: len(before)] == before, (stop, cut)
        before = now


def beside_quotes(messages: list[Raw], result: OrchestratorResult) -> list[str | None]:
    """The view without quoted blocks; None for a message that one stands in."""
    kept: list[str | None] = []
    for placement in result.placements:
        quoted = placement.changed and "<recalled note=" in said(placement.message)
        if placement.index is not None or not quoted:
            kept.append(None if quoted else bytes_of(placement.message))
    return kept


def opens_with(now: list[str | None], before: list[str | None]) -> bool:
    """Whether a view begins with another; a question is the same with a block before it."""
    same = zip(before, now, strict=False)
    return len(before) <= len(now) and all(a == b or None in (a, b) for a, b in same)


@settings(max_examples=150)
@given(
    messages=chats(most_steps=25),
    profile=profiles,
    policy=st.sampled_from(["stable", "off"]),
    share=st.integers(20, 150),
)
def test_a_mend_that_reaches_back_is_declared(messages, profile, policy, share):
    """Where a history is broken too: whole messages of one view open the next, or it is said."""
    budget = count_list(messages) * share // 100
    before: list[str | None] = []
    for stop in requests_of(messages):
        try:
            result = ask(messages[:stop], budget, profile, policy=policy, recall="never")
        except BudgetError:
            before = []
            continue
        now = beside_quotes(messages[:stop], result)
        cut = result.report.cut
        if cut is None or not cut.declared:
            assert opens_with(now, before), (stop, cut)
        before = now


@settings(max_examples=60)
@given(messages=chats(poison=False, most_steps=25), profile=FREE_ORDER, share=st.integers(20, 90))
def test_recall_changes_nothing_but_the_tail(messages, profile, share):
    budget = count_list(messages) * share // 100
    before: list[str] = []
    turn, shrunk = -1, False
    for stop in requests_of(messages):
        now_turn = sum(map(asks, messages[:stop]))
        try:
            result = ask(messages[:stop], budget, profile)
        except BudgetError:
            before = []
            continue
        cut = result.report.cut
        declared = cut is not None and cut.declared
        now = [bytes_of(p.message) for p in result.placements]
        if not declared and not (shrunk and now_turn != turn):
            assert now[: len(before)] == before, (stop, cut)
        before = lasting(messages[:stop], result)
        recalled = declared and bool(result.report.recalled)
        shrunk = recalled or (shrunk and now_turn == turn)
        turn = now_turn
