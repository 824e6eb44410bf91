"""Law: each view is a prefix of the next, but for the question's own part and declared cuts."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ask import ask, bytes_of, orchestrator
from eunoe import BudgetError, OrchestratorResult
from growing import asks, lasting, requests_of
from judge import count_list, said
from strategies import Raw, chats, profiles

pytestmark = pytest.mark.property

FREE_ORDER = st.sampled_from(
    ["openai", "responses", "anthropic", "gemini", "deepseek", "permissive"]
)


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


@settings(max_examples=60)
@given(messages=chats(poison=False, most_steps=25), profile=FREE_ORDER, share=st.integers(20, 90))
def test_a_worker_that_answered_before_declares_all_that_recall_moves(messages, profile, share):
    """Also that a window grows back which made room for the question before."""
    budget = count_list(messages) * share // 100
    worker = orchestrator(budget)
    before: list[str] = []
    for stop in requests_of(messages):
        try:
            result = ask(messages[:stop], budget, profile, by=worker)
        except BudgetError:
            before = []
            continue
        now = [bytes_of(p.message) for p in result.placements]
        cut = result.report.cut
        if cut is None or not cut.declared:
            assert now[: len(before)] == before, (stop, cut)
        before = lasting(messages[:stop], result)


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
