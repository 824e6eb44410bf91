"""Law: the provider accepts what is sent, even where it would refuse what was given."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ask import ask, broken_rules, sent_by
from eunoe import BudgetError
from judge import count_list, current_turn, faults
from strategies import budgets, chats, policies, profiles

pytestmark = pytest.mark.property


def reasons(messages) -> bool:
    return any("reasoning_content" in m for m in messages)


@settings(max_examples=200)
@given(messages=chats(flags=True), profile=profiles, policy=policies, data=st.data())
def test_what_is_sent_is_valid(messages, profile, policy, data):
    budget = data.draw(budgets(count_list(messages), count_list(current_turn(messages))))
    overflow = data.draw(st.sampled_from(["raise", "truncate", "keep"]))
    try:
        result = ask(messages, budget, profile, policy=policy, on_overflow=overflow)
    except BudgetError:
        return
    sent = sent_by(result)
    assert faults(sent, profile, thinking=reasons(messages)) == []
    assert result.report.violations == ()


@settings(max_examples=80)
@given(messages=chats(), profile=profiles)
def test_lint_finds_a_fault_wherever_the_judge_does(messages, profile):
    found = broken_rules(messages, profile)
    assert bool(found) == bool(faults(messages, profile, thinking=reasons(messages)))
    assert all(0 <= v.index <= len(messages) for v in found)


@settings(max_examples=80)
@given(messages=chats(poison=False, odd=True, flags=True), profile=profiles, policy=policies)
def test_odd_messages_raise_nothing_and_what_stays_broken_is_said(messages, profile, policy):
    result = ask(messages, 0, profile, policy=policy)
    roles = {m.get("role") for m in sent_by(result)}
    if not roles <= {"system", "developer", "user", "assistant", "tool", "function"}:
        assert result.report.violations
