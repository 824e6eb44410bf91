from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eunoe.stages.selection.greedy import GreedyWalk, run_greedy
from eunoe.stages.selection.tiers import clean_costs, plain_elements
from eunoe.stages.selection.value_coverage import ValueObjective

CASES = st.integers(1, 7).flatmap(
    lambda n: st.tuples(
        st.lists(st.integers(0, 4).map(float), min_size=n, max_size=n),
        st.lists(st.lists(st.integers(0, 5), max_size=4, unique=True), min_size=n, max_size=n),
        st.lists(st.integers(0, 3).map(float), min_size=6, max_size=6),
        st.lists(st.integers(1, 9), min_size=n, max_size=n),
    )
)


def objective(case):
    relevance, held, weight, _ = case
    return ValueObjective(np.array(relevance), held, np.array(weight))


def worth(case, chosen):
    """The formula, word for word."""
    relevance, held, weight, _ = case
    covered = {x for k in chosen for x in held[k]}
    return sum(relevance[k] for k in chosen) + sum(weight[x] for x in covered)


def test_a_value_counts_once():
    state = ValueObjective(np.array([0.5, 0.0]), [[0, 1], [1]], np.array([2.0, 3.0]))
    assert state.add(1) == 3.0
    assert state.add(0) == 2.5
    assert state.add(0) == 0.0
    assert state.value() == 5.5


@given(CASES, st.data())
def test_gains_are_differences_of_the_formula(case, data):
    state, chosen = objective(case), []
    for k in data.draw(st.permutations(range(len(case[0])))):
        expected = worth(case, [*chosen, k]) - worth(case, chosen)
        assert state.gain(k) == pytest.approx(expected)
        assert state.gains()[k] == state.gain(k)
        state.add(k)
        chosen.append(k)
        assert state.value() == pytest.approx(worth(case, chosen))


@given(CASES, st.data())
def test_monotone_and_submodular(case, data):
    small, large = objective(case), objective(case)
    order = data.draw(st.permutations(range(len(case[0]))))
    cut = data.draw(st.integers(0, len(order) - 1))
    for k in order[: cut // 2]:
        small.add(k)
    for k in order[:cut]:
        large.add(k)
    assert small.gain(order[-1]) >= large.gain(order[-1]) - 1e-9 >= -1e-9


@given(CASES, st.integers(1, 25))
def test_the_bound_holds_and_greedy_comes_near_it(case, budget):
    costs = case[3]
    size = len(costs)
    walk = GreedyWalk(
        objective(case),
        plain_elements(clean_costs(costs)),
        np.array(case[0]),
        np.ones(size, dtype=bool),
        budget,
    )
    outcome = run_greedy(walk, 0.5)
    best = max(
        worth(case, chosen)
        for n in range(size + 1)
        for chosen in combinations(range(size), n)
        if sum(costs[k] for k in chosen) <= budget
    )
    assert outcome.value <= best + 1e-9
    assert best <= outcome.upper_bound + 1e-9
    assert outcome.value >= 0.5 * best - 1e-9
