"""Law: what is sent fits the budget, counted again by others; or the error says by how much not."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ask import ask, sent_by
from eunoe import BudgetError
from judge import count_list, current_turn
from strategies import POLICIES, Raw, budgets, chats, policies, profiles

pytestmark = pytest.mark.property

CUTTING = st.sampled_from([name for name in POLICIES if name != "off"])


def budget_for(data: st.DataObject, messages: list[Raw]) -> int:
    return data.draw(budgets(count_list(messages), count_list(current_turn(messages))))


@settings(max_examples=120)
@given(messages=chats(flags=True), profile=profiles, policy=CUTTING, data=st.data())
def test_it_fits_or_says_by_how_much_not(messages, profile, policy, data):
    budget = budget_for(data, messages)
    try:
        result = ask(messages, budget, profile, policy=policy)
    except BudgetError as error:
        needed, allowed = error.needed, error.allowed
    else:
        assert count_list(sent_by(result)) <= result.report.tokens_after <= budget
        assert result.report.infeasible is None
        return
    assert needed > allowed
    assert allowed <= budget


@settings(max_examples=100)
@given(messages=chats(), profile=profiles, policy=policies, data=st.data())
def test_what_is_said_to_be_sent_is_the_count_of_what_is_sent(messages, profile, policy, data):
    budget = budget_for(data, messages)
    result = ask(messages, budget, profile, policy=policy, on_overflow="truncate")
    again = ask(sent_by(result), 0, profile, policy="off").report
    assert result.report.tokens_after == again.tokens_before


@settings(max_examples=60)
@given(messages=chats(), profile=profiles, data=st.data())
def test_the_budget_that_the_error_names_is_enough(messages, profile, data):
    tools = [{"name": "look", "description": "x" * data.draw(st.integers(0, 300))}]
    reserve = data.draw(st.integers(0, 200))
    try:
        ask(messages, data.draw(st.integers(1, 120)), profile, tools=tools, reserve=reserve)
        assume(False)
    except BudgetError as error:
        enough = error.needed
    result = ask(messages, enough, profile, tools=tools, reserve=reserve)
    assert result.report.tokens_after + reserve <= enough


@settings(max_examples=60)
@given(messages=chats(flags=True), profile=profiles, policy=CUTTING, data=st.data())
def test_truncated_it_fits_or_says_that_it_does_not(messages, profile, policy, data):
    budget = budget_for(data, messages)
    report = ask(messages, budget, profile, policy=policy, on_overflow="truncate").report
    if report.infeasible is None:
        assert report.tokens_after <= budget
    else:
        assert report.infeasible.needed > report.infeasible.allowed


@settings(max_examples=60)
@given(messages=chats(), profile=profiles, policy=policies, data=st.data())
def test_tools_and_reserve_take_their_room(messages, profile, policy, data):
    tools = [
        {"name": f"tool{i}", "description": "d" * 30} for i in range(data.draw(st.integers(1, 4)))
    ]
    reserve = data.draw(st.integers(0, 100))
    budget = budget_for(data, messages) + 100
    assume(messages)
    try:
        result = ask(messages, budget, profile, policy=policy, tools=tools, reserve=reserve)
    except BudgetError:
        return
    report = result.report
    schemas = sum(-(-len('{"name":"tool0","description":"' + "d" * 30 + '"}') // 3) for _ in tools)
    assert report.tool_tokens == schemas
    if policy != "off":
        assert count_list(sent_by(result)) + schemas + reserve <= budget
    assert report.tokens_after >= count_list(sent_by(result)) + schemas


@settings(max_examples=40)
@given(messages=chats(), profile=profiles)
def test_without_a_limit_nothing_is_cut(messages, profile):
    report = ask(messages, 0, profile).report
    assert report.cut is None or (report.cut.index, report.cut.tokens_dropped) == (0, 0)  # a mend
    assert report.recalled == 0 or report.mended
