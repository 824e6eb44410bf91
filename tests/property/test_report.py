"""Law: the report names what was sent: a decision for each message, true to the output."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ask import ask, sent_by
from eunoe import BudgetError, Fate
from judge import STRICT_TURNS, count_list, current_turn, said
from strategies import budgets, chats, policies, profiles

pytestmark = pytest.mark.property


@settings(max_examples=150)
@given(messages=chats(flags=True, odd=True), profile=profiles, policy=policies, data=st.data())
def test_decisions_agree_with_what_was_sent(messages, profile, policy, data):
    budget = data.draw(budgets(count_list(messages), count_list(current_turn(messages))))
    try:
        result = ask(messages, budget, profile, policy=policy, on_overflow="truncate")
    except BudgetError:
        return
    report = result.report
    assert [d.index for d in report.decisions] == list(range(len(messages)))
    assert len(result.placements) == len(sent_by(result))
    assert all(p.message is m for p, m in zip(result.placements, sent_by(result), strict=True))
    placed = {p.index: p for p in result.placements if p.index is not None}
    for decision in report.decisions:
        assert 0.0 <= decision.score <= 1.0
        assert decision.tokens >= 0
        assert decision.reason
        if decision.index in placed:
            assert decision.fate is placed[decision.index].fate
            assert decision.fate in (Fate.KEPT, Fate.GIST, Fate.STUB)
        if decision.fate is Fate.STUB:
            assert decision.index in placed or profile in STRICT_TURNS
        if "carried over" in decision.reason:
            assert decision.fate is Fate.RECALLED
        if decision.fate is Fate.KEPT:
            assert decision.reason in ("in the window", "kept by a flag")
    shortened = [d for d in report.decisions if d.fate in (Fate.GIST, Fate.STUB)]
    if any(d.index not in placed for d in shortened) and profile not in STRICT_TURNS:
        assert any(" (excerpt): " in said(m) for m in sent_by(result))
    whole = sum(d.fate is Fate.RECALLED for d in report.decisions)
    parts = sum(d.fate is Fate.GIST and d.index not in placed for d in report.decisions)
    assert whole <= report.recalled <= whole + parts
    assert report.recalled == whole + parts or profile in STRICT_TURNS
    if report.recalled:
        assert any("<recalled" in said(m) for m in sent_by(result))
    assert sum(report.counts().values()) == len(messages)
    assert report.truncated >= any(d.index in placed for d in shortened)
    flags = sum(said(m).startswith("!") for m in messages)
    assert report.tokens_before >= count_list(messages) - 40 * flags


@settings(max_examples=60)
@given(
    messages=chats(flags=True, odd=True),
    profile=profiles,
    policy=policies,
    share=st.integers(1, 130),
)
def test_reports_are_plain_values_and_lines(messages, profile, policy, share):
    budget = max(1, count_list(messages) * share // 100)
    report = ask(messages, budget, profile, policy=policy, on_overflow="keep").report
    plain = json.loads(json.dumps(report.to_dict()))
    assert len(plain["decisions"]) == len(messages)
    assert plain["budget"] <= budget
    assert plain["profile"] == profile
    flagged = any("!policy" in said(m) for m in messages)
    assert plain["policy"] == policy or flagged
    lines = report.explain().split("\n")
    assert sum(line.startswith("  [") for line in lines) == len(messages)


@settings(max_examples=100)
@given(messages=chats(), profile=profiles, data=st.data())
def test_what_was_lost_from_sight_is_not_called_kept(messages, profile, data):
    budget = data.draw(budgets(count_list(messages), count_list(current_turn(messages))))
    try:
        result = ask(messages, budget, profile)
    except BudgetError:
        return
    everything = (
        "\n".join(said(m) for m in sent_by(result))
        .replace("<\\/", "</")
        .replace("<\\recalled", "<recalled")
    )
    for decision in result.report.decisions:
        text = said(messages[decision.index])
        if decision.fate in (Fate.KEPT, Fate.RECALLED) and "\ud83d" not in text:
            assert text.strip() in everything, decision
