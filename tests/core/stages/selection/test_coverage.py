from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eunoe.stages.selection.candidates import SparseSimilarity
from eunoe.stages.selection.coverage import CoverageObjective, MigObjective
from eunoe.stages.selection.tiers import plain_elements, tier_elements


def dense_rows(matrix):
    matrix = np.asarray(matrix, dtype=float)
    row, column = np.nonzero(matrix)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=len(matrix)))])
    return SparseSimilarity.of(indptr, column, matrix[row, column])


UNIT = st.floats(0.0, 1.0, width=16)


@st.composite
def small_pools(draw, most=5):
    """(relevance, matrix of likeness, elements in up to two tiers, beta)"""
    size = draw(st.integers(1, most))
    relevance = np.asarray(draw(st.lists(UNIT, min_size=size, max_size=size)))
    matrix = np.asarray(draw(st.lists(UNIT, min_size=size * size, max_size=size * size)))
    matrix = matrix.reshape(size, size)
    cost = draw(st.lists(st.integers(1, 9), min_size=size, max_size=size))
    gist = draw(st.lists(st.integers(-1, 5), min_size=size, max_size=size))
    return relevance, matrix, tier_elements(cost, gist=gist), draw(UNIT)


def coverage_by_definition(relevance, matrix, elements, beta, picked):
    level = np.zeros(len(relevance))
    cover = np.zeros(len(relevance))
    for e in picked:
        i, phi = elements.item[e], elements.fidelity[e]
        level[i] = max(level[i], phi)
        for k in range(len(relevance)):
            cover[k] = max(cover[k], phi * (1.0 if k == i else matrix[i, k]))
    return (1 - beta) * (relevance @ level) + beta * (relevance @ cover)


def value_of(objective, picked):
    objective.init()
    for e in picked:
        objective.add(e)
    return objective.value()


@pytest.mark.property
@settings(max_examples=60)
@given(small_pools(), st.data())
def test_value_follows_the_definition_for_every_order(pool, data):
    relevance, matrix, elements, beta = pool
    objective = CoverageObjective(relevance, elements, dense_rows(matrix), beta=beta)
    picked = data.draw(st.permutations(range(elements.item.size)))
    picked = picked[: data.draw(st.integers(0, len(picked)))]
    expected = coverage_by_definition(relevance, matrix, elements, beta, picked)
    assert value_of(objective, picked) == pytest.approx(expected, abs=1e-12)
    assert value_of(objective, sorted(picked)) == value_of(objective, picked)


@pytest.mark.property
@settings(max_examples=60)
@given(small_pools(most=3))
def test_coverage_is_monotone_and_submodular(pool):
    relevance, matrix, elements, beta = pool
    objective = CoverageObjective(relevance, elements, dense_rows(matrix), beta=beta)
    everything = range(elements.item.size)
    value = {
        frozenset(s): value_of(objective, s)
        for size in range(elements.item.size + 1)
        for s in combinations(everything, size)
    }
    assert value[frozenset()] == 0.0
    for s in value:
        for e in everything:
            gain = value[s | {e}] - value[s]
            assert gain >= -1e-12
            for other in everything:  # one more element never raises a gain
                assert value[s | {other, e}] - value[s | {other}] <= gain + 1e-12


@pytest.mark.property
@settings(max_examples=60)
@given(small_pools(), st.data(), st.sampled_from([CoverageObjective, MigObjective]))
def test_gains_equal_gain_bit_for_bit_and_never_grow(pool, data, kind):
    relevance, matrix, elements, beta = pool
    objective = kind(relevance, elements, dense_rows(matrix), beta=beta)
    before = objective.gains()
    for e in data.draw(st.permutations(range(elements.item.size))):
        gains = objective.gains()
        assert gains.tolist() == [objective.gain(x) for x in range(elements.item.size)]
        assert (gains <= before).all()
        assert (gains >= 0.0).all()
        assert objective.add(e) == gains[e]
        before = gains


def test_without_likeness_coverage_is_the_sum_of_relevance():
    relevance = np.asarray([0.5, 0.25, 1.0])
    objective = CoverageObjective(relevance, plain_elements(np.ones(3, int)), None, beta=0.7)
    assert value_of(objective, [0, 2]) == pytest.approx(1.5)
    assert objective.gains().tolist() == pytest.approx([0.0, 0.25, 0.0])


def test_marginal_is_the_mig_gain_plus_the_spill():
    relevance = np.asarray([1.0, 0.5])
    rows = dense_rows([[0, 0.8], [0.8, 0]])
    objective = CoverageObjective(relevance, plain_elements(np.ones(2, int)), rows, beta=0.7)
    objective.add(0)
    assert objective.gain(1) == pytest.approx(0.5 * (1 - 0.7 * 0.8))  # nothing left to spill on
    objective.init()
    assert objective.gain(1) == pytest.approx(0.5 + 0.7 * 0.8 * 1.0)


def test_mig_depends_on_the_order():
    relevance = np.asarray([1.0, 0.5])
    rows = dense_rows([[0, 0.8], [0.8, 0]])
    objective = MigObjective(relevance, plain_elements(np.ones(2, int)), rows, beta=0.7)
    assert value_of(objective, [0, 1]) == pytest.approx(1.22)
    assert value_of(objective, [1, 0]) == pytest.approx(0.94)
    coverage = CoverageObjective(relevance, plain_elements(np.ones(2, int)), rows, beta=0.7)
    assert len({value_of(coverage, order) for order in permutations([0, 1])}) == 1


@pytest.mark.parametrize("kind", [CoverageObjective, MigObjective])
@pytest.mark.parametrize("beta", [-0.1, 1.1, float("nan")])
def test_beta_out_of_range(kind, beta):
    with pytest.raises(ValueError, match="beta is"):
        kind(np.ones(1), plain_elements(np.ones(1, int)), None, beta=beta)
