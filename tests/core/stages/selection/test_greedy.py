import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eunoe.stages.selection.candidates import SparseSimilarity
from eunoe.stages.selection.coverage import CoverageObjective, MigObjective
from eunoe.stages.selection.greedy import (
    GreedyWalk,
    fill_greedily,
    greedy_power,
    greedy_powers,
    run_greedy,
)
from eunoe.stages.selection.modular import run_modular
from eunoe.stages.selection.tiers import plain_elements, tier_elements

COARSE = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])  # many ties
EXPONENTS = st.sampled_from([0.5, 1.0, 0.0, 0.3])


@st.composite
def walks(draw, likeness=True, tiers=True, kinds=(CoverageObjective, MigObjective)):
    size = draw(st.integers(1, 9))
    relevance = np.asarray(draw(st.lists(COARSE, min_size=size, max_size=size)))
    cost = np.asarray(draw(st.lists(st.integers(1, 12), min_size=size, max_size=size)))
    gist = draw(st.lists(st.integers(-1, 6), min_size=size, max_size=size)) if tiers else None
    elements = tier_elements(cost, gist=gist, stub=[1] * size if tiers else None)
    rows = None
    if likeness:
        matrix = np.asarray(draw(st.lists(COARSE, min_size=size * size, max_size=size * size)))
        matrix = np.triu(matrix.reshape(size, size), 1)
        matrix = matrix + matrix.T
        indptr = np.concatenate([[0], np.cumsum((matrix > 0).sum(axis=1))])
        rows = SparseSimilarity.of(indptr, np.nonzero(matrix)[1], matrix[matrix > 0])
    allowed = np.asarray(draw(st.lists(st.booleans(), min_size=size, max_size=size)))
    given_ = tuple(
        int(elements.start[i + 1]) - 1
        for i in range(size)
        if not allowed[i] and draw(st.booleans())
    )
    objective = draw(st.sampled_from(kinds))(relevance, elements, rows, beta=0.5)
    budget = draw(st.integers(0, int(cost.sum()) + 1))
    return GreedyWalk(objective, elements, relevance, allowed, budget, given_), relevance


def fill_naively(walk, relevance, exponent):
    picked = []
    while True:
        best = None
        for e in range(walk.elements.item.size):
            price, gain = walk.price(e), walk.objective.gain(e)
            if walk.allowed[walk.item[e]] and 1 <= price <= walk.left and gain > 0.0:
                item = walk.item[e]
                key = (
                    gain / greedy_power(price, exponent),
                    relevance[item],
                    item,
                    walk.elements.fidelity[e],
                )
                if best is None or key > best[0]:
                    best = key, e
        if best is None:
            return picked
        picked.append(walk.take(best[1]))


@pytest.mark.property
@settings(max_examples=60)
@given(walks(), EXPONENTS)
def test_lazy_greedy_picks_what_naive_greedy_picks(case, exponent):
    walk, relevance = case
    lazy = fill_greedily(walk, exponent)
    spent = walk.budget - walk.left
    walk.begin()
    assert lazy == fill_naively(walk, relevance, exponent)
    assert spent == sum(pick.price for pick in lazy) <= walk.budget


@pytest.mark.property
@settings(max_examples=60)
@given(walks(), EXPONENTS)
def test_greedy_max_is_never_worse_and_keeps_the_budget(case, exponent):
    walk, _ = case
    plain = run_greedy(walk, exponent, maximise=False)
    best = run_greedy(walk, exponent)
    assert best.value >= plain.value
    assert best.value <= best.upper_bound * (1 + 1e-9) + 1e-12
    assert best.upper_bound == plain.upper_bound
    assert sum(pick.price for pick in best.picks) <= walk.budget
    walk.begin()
    singles = [
        walk.objective.value() + walk.objective.gain(e)
        for e in range(walk.elements.item.size)
        if walk.allowed[walk.item[e]] and walk.cost[e] <= walk.budget
    ]
    assert best.value >= max(singles, default=0.0) - 1e-9


@pytest.mark.property
@settings(max_examples=60)
@given(walks(), EXPONENTS)
def test_greedy_max_tries_every_element_on_every_prefix(case, exponent):
    walk, _ = case
    plain = run_greedy(walk, exponent, maximise=False)
    best = run_greedy(walk, exponent)
    walk.begin()
    for step in range(len(plain.picks) + 1):
        for e in range(walk.elements.item.size):
            if walk.allowed[walk.item[e]] and 1 <= walk.price(e) <= walk.left:
                assert walk.objective.value() + walk.objective.gain(e) <= best.value + 1e-9
        if step < len(plain.picks):
            walk.take(plain.picks[step].element)


@pytest.mark.property
@settings(max_examples=60)
@given(walks(likeness=False, tiers=False, kinds=(CoverageObjective,)), EXPONENTS)
def test_the_sorted_list_picks_what_the_heap_picks(case, exponent):
    walk, relevance = case
    walk.begin()
    base = walk.objective.value()
    for maximise in (False, True):
        heap = run_greedy(walk, exponent, maximise=maximise)
        line = run_modular(
            relevance,
            walk.elements,
            walk.allowed,
            walk.budget,
            exponent,
            base=base,
            maximise=maximise,
        )
        assert line.value == pytest.approx(heap.value)
        assert line.upper_bound == pytest.approx(heap.upper_bound)
        if not maximise:
            assert [p.element for p in line.picks] == [p.element for p in heap.picks]


def test_a_crumb_keeps_out_the_loaf_without_greedy_max():
    relevance, elements = np.asarray([0.02, 1.0]), plain_elements(np.asarray([1, 100]))
    allowed = np.ones(2, bool)
    plain = run_modular(relevance, elements, allowed, 100, 1.0, maximise=False)
    assert (plain.value, plain.upper_bound) == (0.02, pytest.approx(1.01))
    assert run_modular(relevance, elements, allowed, 100, 1.0).value == 1.0
    walk = GreedyWalk(
        CoverageObjective(relevance, elements, None, beta=0.5), elements, relevance, allowed, 100
    )
    assert run_greedy(walk, 1.0, maximise=False).value == 0.02
    assert run_greedy(walk, 1.0).value == 1.0


def test_room_that_greedy_max_frees_is_filled_again():
    relevance = np.asarray([0.3, 0.3, 1.0, 0.1])
    elements = plain_elements(np.asarray([2, 2, 9, 1]))
    run = run_modular(relevance, elements, np.ones(4, bool), 10, 1.0)
    assert sorted(pick.element for pick in run.picks) == [2, 3]


def test_a_fuller_form_costs_the_difference():
    elements = tier_elements([10], gist=[2])
    relevance = np.asarray([1.0])
    objective = CoverageObjective(relevance, elements, None, beta=0.5)
    walk = GreedyWalk(objective, elements, relevance, np.ones(1, bool), 10)
    picks = fill_greedily(walk, 1.0)
    assert [(pick.element, pick.price) for pick in picks] == [(0, 2), (1, 8)]
    assert (walk.left, objective.value()) == (0, 1.0)


@pytest.mark.parametrize("exponent", [0.0, 0.3, 0.5, 1.0, 2.0])
def test_powers_have_the_same_bits_one_by_one_and_together(exponent):
    prices = np.asarray([1, 2, 3, 7, 1000, 123457])
    expected = [greedy_power(price, exponent) for price in prices.tolist()]
    assert greedy_powers(prices, exponent).tolist() == expected
    assert expected == pytest.approx((prices**exponent).tolist())
