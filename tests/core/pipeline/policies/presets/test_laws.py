"""Laws of the presets: within the budget, valid for every provider, the same every time."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ask import ask, broken_rules, bytes_of, sent_by
from eunoe import BudgetError
from eunoe.pipeline.policies.presets.registry import PRESETS
from judge import count_list, current_turn, faults
from strategies import budgets, chats, profiles

pytestmark = pytest.mark.property

NAMES = st.sampled_from(sorted(PRESETS))
PLACEMENTS = st.sampled_from(["chronological", "u_shape"])


@settings(max_examples=150)
@given(
    messages=chats(flags=True), profile=profiles, policy=NAMES, placement=PLACEMENTS, data=st.data()
)
def test_within_the_budget_valid_and_the_same_again(messages, profile, policy, placement, data):
    budget = data.draw(budgets(count_list(messages), count_list(current_turn(messages))))
    try:
        answer = ask(messages, budget, profile, policy=policy, placement=placement)
    except BudgetError:
        return  # what it says is a law of its own
    sent = sent_by(answer)
    assert count_list(sent) <= answer.report.tokens_after <= budget
    assert faults(sent, profile) == []
    assert broken_rules(sent, profile) == []
    again = ask(messages, budget, profile, policy=policy, placement=placement)
    assert bytes_of(sent_by(again)) == bytes_of(sent)
    assert again.report.to_dict() == answer.report.to_dict()
