import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eunoe.stages.structure.pagerank import (
    merge_edges,
    personalised_pagerank,
    seed_weights,
    transition_weights,
)


def dense(source, target, weight, v, damping=0.85):
    n = v.size
    p = np.zeros((n, n))
    p[source, target] = weight
    p[p.sum(axis=1) == 0] = v
    return np.linalg.solve(np.eye(n) - damping * p.T, (1 - damping) * v)


EDGES = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6), st.floats(0, 1)), max_size=25)


@pytest.mark.property
@settings(max_examples=80)
@given(EDGES, st.lists(st.floats(0.01, 1), min_size=7, max_size=7))
def test_equals_the_dense_solution(edges, mass):
    source = np.array([a for a, _, _ in edges], dtype=np.int64)
    target = np.array([b for _, b, _ in edges], dtype=np.int64)
    kappa = np.array([k for _, _, k in edges], dtype=np.float64)
    source, target, kappa = merge_edges(source, target, kappa, 7)
    weight = transition_weights(source, kappa, 7)
    v = np.array(mass) / sum(mass)
    got = personalised_pagerank(source, target, weight, v, tolerance=1e-10, steps=500)
    assert got == pytest.approx(dense(source, target, weight, v), abs=1e-9)
    assert got.sum() == pytest.approx(1.0)


def test_two_nodes_by_hand():
    # a -> b, b dangles back to the seed a: a = .15 + .85 b, b = .85 a
    got = personalised_pagerank(
        np.array([0]), np.array([1]), np.array([1.0]), np.array([1.0, 0.0]), tolerance=1e-12
    )
    assert got == pytest.approx([1 / 1.85, 0.85 / 1.85], abs=1e-9)


def test_without_edges_or_seeds():
    none = np.zeros(0, dtype=np.int64)
    empty = np.zeros(0)
    assert personalised_pagerank(none, none, empty, np.array([1.0, 3.0])).tolist() == [0.25, 0.75]
    assert personalised_pagerank(none, none, empty, np.zeros(2)).tolist() == [0.5, 0.5]
    assert personalised_pagerank(none, none, empty, empty).size == 0


def test_softmax_of_the_kernel():
    got = transition_weights(np.array([0, 0]), np.array([1.0, 0.0]), 2)
    assert got[0] / got[1] == pytest.approx(np.exp(3.0))
    assert got.sum() == pytest.approx(1.0)


def test_merging_edges():
    source, target, kappa = merge_edges(
        np.array([1, 0, 0, 2]), np.array([0, 1, 1, 2]), np.array([0.1, 0.2, 0.9, 1.0]), 3
    )
    assert source.tolist() == [0, 1]
    assert target.tolist() == [1, 0]
    assert kappa.tolist() == [0.9, 0.1]


def test_seeds_are_squared_alignment_and_a_floor():
    got = seed_weights(np.array([1.0, 0.5, 0.9]), np.array([0, 1]))
    assert got == pytest.approx([1.01 / 1.27, 0.26 / 1.27, 0.0])
