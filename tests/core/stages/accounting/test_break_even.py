"""Does a cut pay? Against sums by hand, and against a simulation that charges token by token."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eunoe import SettingsError
from eunoe.stages.accounting.break_even import (
    PriceRatios,
    WindowShape,
    break_even_requests,
    cost_of_cutting,
    cost_of_keeping,
)
from eunoe.stages.accounting.price import ModelPrice

TENTH = PriceRatios(cached=0.1)
CLAUDE = PriceRatios(cached=0.1, fresh=1.25)


def simulated(ratios: PriceRatios, window: WindowShape, requests: int, low: int | None) -> float:
    """Send list after list of token names; what the last list began with comes from the cache."""
    last = [f"head{i}" for i in range(window.head)]
    last += [f"old{i}" for i in range(window.tokens - window.head)]
    view, cost = list(last), 0.0
    if low is not None:
        view = last[: window.head] + last[len(last) - (low - window.head) :]
        if low == window.head:
            view = last[: window.head]
    for request in range(requests):
        view = view + [f"new{request}.{i}" for i in range(window.new)]
        shared = next(
            (i for i, (a, b) in enumerate(zip(last, view, strict=False)) if a != b),
            min(len(last), len(view)),
        )
        cost += ratios.cached * shared + ratios.fresh * (len(view) - shared)
        last = view
    return cost


def test_by_hand():
    # 3 requests on 1,000 tokens that grow by 100: cached 1000+1100+1200, fresh 3 times 100
    window = WindowShape(tokens=1000, new=100)
    assert cost_of_keeping(TENTH, window, 3) == pytest.approx(0.1 * 3300 + 300)
    # cut to 400: 400 read anew, then 500 and 600 cached, fresh 3 times 100
    assert cost_of_cutting(TENTH, window, 400, 3) == pytest.approx(400 + 0.1 * 1100 + 300)
    # k* = 0.9 * 400 / (0.1 * 600) = 6
    assert break_even_requests(TENTH, window, 400) == pytest.approx(6)


def test_with_a_head_and_a_price_for_writing():
    window = WindowShape(tokens=1000, head=200, new=50)
    # 200 cached, 300 written, 50 written; then 550 cached, 50 written
    assert cost_of_cutting(CLAUDE, window, 500, 2) == pytest.approx(20 + 375 + 62.5 + 55 + 62.5)
    # (1.25 - 0.1) * 300 / (0.1 * 500)
    assert break_even_requests(CLAUDE, window, 500) == pytest.approx(6.9)


def test_without_a_cache_price_a_cut_pays_at_once_and_with_a_free_cache_never():
    window = WindowShape(tokens=1000, new=50)
    assert break_even_requests(PriceRatios(), window, 400) == 0
    assert break_even_requests(PriceRatios(cached=0.0), window, 400) == math.inf
    assert break_even_requests(TENTH, window, 1000) == math.inf


ratios_ = st.builds(PriceRatios, cached=st.floats(0.01, 1), fresh=st.floats(1, 2))
windows = st.integers(1, 60).flatmap(
    lambda tokens: st.builds(
        WindowShape, tokens=st.just(tokens), head=st.integers(0, tokens), new=st.integers(0, 12)
    )
)


@given(ratios_, windows, st.integers(0, 12), st.data())
def test_the_formulas_are_the_simulation(ratios, window, requests, data):
    # a cut must drop something, or the old view would be the new one and cached as a whole
    keep = simulated(ratios, window, requests, None)
    assert cost_of_keeping(ratios, window, requests) == pytest.approx(keep)
    if window.head < window.tokens:
        low = data.draw(st.integers(window.head, window.tokens - 1))
        cut = simulated(ratios, window, requests, low)
        assert cost_of_cutting(ratios, window, low, requests) == pytest.approx(cut)
        pays = cut < keep - 1e-9
        if abs(cut - keep) > 1e-6 and requests:
            assert (break_even_requests(ratios, window, low) < requests) == pays


@given(ratios_, windows, st.data())
def test_break_even_is_where_the_costs_meet(ratios, window, data):
    low = data.draw(st.integers(window.head, window.tokens))
    k = break_even_requests(ratios, window, low)
    if math.isfinite(k) and k < 1e6:
        before, after = math.floor(k), math.ceil(k) + 1
        keep, cut = (
            cost_of_keeping(ratios, window, after),
            cost_of_cutting(ratios, window, low, after),
        )
        assert cut <= keep + 1e-6 * max(1, keep)
        if before >= 1:
            keep = cost_of_keeping(ratios, window, before)
            cut = cost_of_cutting(ratios, window, low, before)
            assert keep <= cut + 1e-6 * max(1, keep)


@given(ratios_, windows, st.integers(0, 20), st.data())
def test_costs_are_not_negative(ratios, window, requests, data):
    low = data.draw(st.integers(window.head, window.tokens))
    assert cost_of_keeping(ratios, window, requests) >= 0
    assert cost_of_cutting(ratios, window, low, requests) >= 0


def test_ratios_of_prices():
    found = PriceRatios.of(ModelPrice(input=3, cached=0.3, write=3.75, output=15))
    assert (found.cached, found.fresh) == (pytest.approx(0.1), 1.25)
    assert PriceRatios.of(ModelPrice(input=2, output=8)) == PriceRatios()
    assert PriceRatios.of(ModelPrice(input=0, output=0)) == PriceRatios()
    assert PriceRatios.of(ModelPrice(input=1, cached=2, output=1)) == PriceRatios()


def test_what_cannot_be_is_refused():
    with pytest.raises(SettingsError):
        PriceRatios(cached=1.5)
    with pytest.raises(SettingsError):
        PriceRatios(cached=0.5, fresh=0.4)
    with pytest.raises(SettingsError):
        WindowShape(tokens=5, head=6)
    for low in (1, 11):
        with pytest.raises(SettingsError):
            break_even_requests(TENTH, WindowShape(tokens=10, head=2), low)
