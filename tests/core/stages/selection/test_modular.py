import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eunoe.stages.selection.modular import run_modular
from eunoe.stages.selection.tiers import plain_elements

ITEMS = st.lists(
    st.tuples(st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.integers(1, 12), st.booleans()),
    max_size=10,
)


def arrays(items):
    relevance = np.asarray([worth for worth, _, _ in items], dtype=float)
    cost = np.asarray([price for _, price, _ in items], dtype=np.int64)
    return relevance, plain_elements(cost), np.asarray([ok for _, _, ok in items], dtype=bool)


@pytest.mark.property
@settings(max_examples=60)
@given(ITEMS, st.integers(-2, 70), st.sampled_from([0.5, 1.0, 0.0]), st.booleans())
def test_a_run_fits_and_leaves_no_room_for_another(items, budget, exponent, take_zero):
    relevance, elements, allowed = arrays(items)
    run = run_modular(relevance, elements, allowed, budget, exponent, take_zero=take_zero)
    picked = [pick.element for pick in run.picks]
    left = budget - sum(pick.price for pick in run.picks)
    assert len(set(picked)) == len(picked)
    assert allowed[picked].all()
    assert left >= min(budget, 0)
    assert run.value == pytest.approx(relevance[picked].sum())
    assert run.value <= run.upper_bound + 1e-9
    for item in set(np.flatnonzero(allowed).tolist()) - set(picked):
        assert elements.cost[item] > left or (relevance[item] == 0.0 and not take_zero)


@pytest.mark.property
@settings(max_examples=60)
@given(ITEMS, st.integers(0, 70), st.sampled_from([0.5, 1.0, 0.0]))
def test_greedy_max_tries_every_item_on_every_prefix(items, budget, exponent):
    relevance, elements, allowed = arrays(items)
    plain = run_modular(relevance, elements, allowed, budget, exponent, maximise=False)
    best = run_modular(relevance, elements, allowed, budget, exponent)
    assert best.value >= plain.value
    value, left, taken = 0.0, budget, set()
    for pick in plain.picks:
        for item in np.flatnonzero(allowed & (elements.cost <= left)).tolist():
            if item not in taken:
                assert value + relevance[item] <= best.value + 1e-9
        value, left = value + pick.gain, left - pick.price
        taken.add(pick.element)


def test_what_is_in_anyway_counts_for_value_and_bound():
    run = run_modular(*arrays([(0.5, 3, True)]), 3, 1.0, base=2.0)
    assert (run.value, run.upper_bound) == (2.5, 2.5)


def test_the_scan_stops_but_not_before_a_later_item_fits():
    relevance, elements, allowed = arrays([(0.25, 1, True), (0.5, 6, True), (1.0, 5, True)])
    run = run_modular(relevance, elements, allowed, 6, 0.0)
    assert [pick.element for pick in run.picks] == [2, 0]
