from __future__ import annotations

import copy
import json
from dataclasses import replace

import pytest

from eunoe.domain.certificate import Certificate
from eunoe.domain.cost import CostAccount, RequestCost, WayCost
from eunoe.domain.report import Cut, DecisionList, Fate, Overrun, Report

DROPPED_BEFORE = "before the window, and the question does not need it"


def decisions() -> DecisionList:
    return DecisionList(
        [5, 6, 7, 8],
        {0: Fate.KEPT, 1: Fate.RECALLED, 3: Fate.GIST},
        [0.5, 0.12345678],
        {3: "larger than the budget"},
    )


def test_a_decision_for_each_message():
    made = decisions()
    assert [(d.index, d.fate, d.score, d.tokens) for d in made] == [
        (0, Fate.KEPT, 0.5, 5),
        (1, Fate.RECALLED, 0.123457, 6),
        (2, Fate.DROPPED, 0.0, 7),
        (3, Fate.GIST, 0.0, 8),
    ]
    assert [d.reason for d in made][2:] == [
        DROPPED_BEFORE,
        "larger than the budget",
    ]
    assert made.counts() == {"kept": 1, "recalled": 1, "gist": 1, "dropped": 1}
    assert DecisionList([], {}).counts() == {}


def test_a_message_that_is_larger_than_what_was_counted():
    made = decisions()
    larger = made.with_more_tokens(2, 30)
    assert list(larger.sizes) == [5, 6, 37, 8]
    assert list(made.sizes) == [5, 6, 7, 8]
    assert [(d.fate, d.score, d.reason) for d in larger] == [
        (d.fate, d.score, d.reason) for d in made
    ]


def test_decisions_are_a_sequence():
    made = decisions()
    assert len(made) == 4
    assert made[-1] == made[3]
    assert made[1:3] == (made[1], made[2])
    assert made[::-1][0] == made[3]
    for index in (4, -5):
        with pytest.raises(IndexError, match="decision"):
            made[index]


def test_decisions_are_equal_where_they_say_the_same():
    assert decisions() == decisions() == copy.deepcopy(decisions())
    assert hash(decisions()) == hash(decisions())
    assert decisions() != DecisionList([5, 6, 7, 8], {})
    assert decisions() != list(decisions())


@pytest.mark.parametrize("made", [decisions(), DecisionList([], {})])
def test_columns_say_the_same(made):
    columns, one_by_one = made.columns(), [made[i] for i in range(len(made))]
    assert list(made) == one_by_one
    made = one_by_one
    assert columns.fates == [d.fate for d in made]
    assert columns.scores == [d.score for d in made]
    assert columns.tokens == [d.tokens for d in made]
    assert columns.reasons == [d.reason for d in made]


def test_every_fate_has_a_reason():
    for fate in Fate:
        assert DecisionList([1], {0: fate})[0].reason


def full_report() -> Report:
    return Report(
        decisions=decisions(),
        tokens_before=12_000,
        tokens_after=7900,
        budget=8000,
        tokenizer="o200k",
        cut=Cut(index=2, tokens_dropped=4100, declared=True),
        recalled=1,
        recall_reason="recall was asked for",
        proof=Certificate(value=3.0, upper_bound=4.0),
        mended=("x was mended",),
        warnings=("mind the gap",),
        violations=("[0] odd",),
        infeasible=Overrun(needed=2, allowed=1),
    )


def test_a_report_for_people():
    assert full_report().explain().split("\n") == [
        "sent about 7,900 tokens of 8,000 allowed; the whole chat has 12,000",
        "policy stable, rules of openai, counted by o200k",
        "messages: 1 kept, 1 recalled, 1 gist, 1 dropped",
        "recall: recall was asked for",
        "proof: the choice has at least 75 % of the best possible value under this scoring",
        "mended: x was mended",
        "still broken: [0] odd",
        "warning: mind the gap",
        "  [0] kept            5 tokens  0.50  in the window",
        "  [1] recalled        6 tokens  0.12  the question needs it",
        "  [2] dropped         7 tokens  0.00  " + DROPPED_BEFORE,
        "  [3] gist            8 tokens  0.00  larger than the budget",
    ]


def test_a_report_without_limit_and_messages():
    report = Report(
        decisions=DecisionList([], {}), tokens_before=0, tokens_after=0, budget=0, estimated=False
    )
    assert report.explain().split("\n") == [
        "sent 0 tokens, no limit; the whole chat has 0",
        "policy stable, rules of openai, counted by ",
        "messages: none",
        "proof: nothing is proven of the choice: the history was not scored for this question",
    ]
    assert report.counts() == {}


def test_a_report_for_machines():
    plain = json.loads(json.dumps(full_report().to_dict()))
    assert plain["cut"] == {"index": 2, "tokens_dropped": 4100, "declared": True}
    assert plain["certificate"] == {
        "value": 3.0,
        "upper_bound": 4.0,
        "ratio": 0.75,
        "basis": "chosen",
    }
    assert "proof" not in plain
    assert plain["infeasible"] == {"needed": 2, "allowed": 1}
    assert plain["decisions"][1] == {
        "index": 1,
        "fate": "recalled",
        "score": 0.123457,
        "tokens": 6,
        "reason": "the question needs it",
    }
    assert plain["cost"] is None


def test_what_a_request_costs_is_one_line_and_plain_values():
    ways = {
        "sent": WayCost(prompt=7900, cached=6100, usd=0.0111),
        "untouched": WayCost(prompt=12_000, usd=0.03),
        "window": WayCost(prompt=7950, usd=0.019),
    }
    cost = RequestCost(**ways)
    report = replace(full_report(), costing=CostAccount.of(cost))
    assert report.cost is cost
    lines, plain = report.explain().split("\n"), full_report().explain().split("\n")
    assert lines == [plain[0], f"cost: {cost.describe()}", *plain[1:]]
    told = json.loads(json.dumps(report.to_dict()))
    assert told["cost"]["sent"] == {"prompt": 7900, "cached": 6100, "usd": 0.0111}
    assert told["cost"]["measured"] is False
    assert set(told) == set(full_report().to_dict())
    assert report != full_report() == full_report()


def test_a_report_that_nobody_reads_works_nothing_out():
    def fail() -> RequestCost:
        raise AssertionError("looked at")

    report = replace(full_report(), costing=CostAccount(fail))
    assert replace(report, cache_lost="x").counts() == full_report().counts()
    assert "looked" not in repr(report)
    with pytest.raises(AssertionError, match="looked at"):
        report.explain()
