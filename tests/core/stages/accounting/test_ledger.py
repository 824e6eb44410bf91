"""Sums of tokens and money: the same in any order, measured and estimated apart."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eunoe.stages.accounting.ledger import Account, Ledger, Tally
from eunoe.stages.accounting.price import PICODOLLARS, ModelPrice, TokenUse

counts = st.integers(0, 10**15)
tallies = st.builds(
    Tally,
    requests=counts,
    prompt=counts,
    cached=counts,
    written=counts,
    completion=counts,
    cost=counts,
    unpriced=counts,
)
accounts = st.builds(
    Account, sent=tallies, untouched=tallies, window=tallies, untouched_over=counts
)
ledgers = st.builds(Ledger, measured=accounts, estimated=accounts)


@given(ledgers, ledgers, ledgers)
def test_merging_is_associative_commutative_and_has_a_zero(a: Ledger, b: Ledger, c: Ledger):
    assert (a + b) + c == a + (b + c)
    assert a + b == b + a
    assert a + Ledger() == a
    assert Ledger.merge([a, b, c]) == Ledger.merge([c, b, a])
    assert Ledger.merge([]) == Ledger()


@given(ledgers)
def test_measured_and_estimated_add_up(ledger: Ledger):
    total = ledger.total
    assert total == ledger.measured + ledger.estimated
    assert total.sent.cost == ledger.measured.sent.cost + ledger.estimated.sent.cost
    assert ledger.saved_usd == (total.untouched.cost - total.sent.cost) / PICODOLLARS


@given(ledgers)
def test_it_survives_json_and_text(ledger: Ledger):
    assert Ledger.from_dict(json.loads(json.dumps(ledger.to_dict()))) == ledger
    assert Ledger.from_flat({k: str(v) for k, v in ledger.flat().items()}) == ledger
    assert Ledger.from_flat({k: str(v).encode() for k, v in ledger.flat().items()}) == ledger


@given(ledgers, ledgers)
def test_flat_figures_add_up_like_ledgers(a: Ledger, b: Ledger):
    summed = {k: a.flat().get(k, 0) + b.flat().get(k, 0) for k in {*a.flat(), *b.flat()}}
    assert Ledger.from_flat(summed) == a + b


@pytest.mark.parametrize(
    "odd",
    [None, 3, [], {}, {"figures": 3}, {"figures": {"measured.sent.prompt": "x", "other": 1}}],
)
def test_what_is_no_ledger_is_an_empty_one(odd: object):
    assert Ledger.from_dict(odd) == Ledger()


def test_one_request():
    price = ModelPrice(input=2, cached=0.5, output=8)
    tally = Tally.of(TokenUse(prompt=1000, cached=400, completion=100), price)
    assert tally.cost == (600 * 2 + 400 * 0.5 + 100 * 8) * 10**6
    assert tally.cost_usd == pytest.approx(0.0022)
    assert (tally.requests, tally.unpriced) == (1, 0)
    unpriced = Tally.of(TokenUse(prompt=1000), None)
    assert (unpriced.requests, unpriced.unpriced, unpriced.cost, unpriced.prompt) == (1, 1, 0, 1000)


def test_what_is_measured():
    one = Account(sent=Tally(requests=1))
    assert Ledger(measured=one).is_measured
    assert not Ledger(measured=one, estimated=one).is_measured
    assert not Ledger().is_measured
    assert Ledger(measured=one).to_dict()["measured"] is True
