import numpy as np
import pytest

from eunoe.stages.selection import SelectionCandidates, SparseSimilarity, tier_elements


def test_rows_are_cleaned():
    rows = SparseSimilarity.of([0, 3, 5], [0, 1, 1, 0, 1], [1.0, 2.0, 0.0, float("nan"), 0.5])
    assert rows.size == 2
    assert rows.indptr.tolist() == [0, 1, 1]  # diagonal, zero and not-a-number are gone
    assert (rows.indices.tolist(), rows.values.tolist()) == ([1], [1.0])


@pytest.mark.parametrize(
    ("indptr", "indices", "values", "match"),
    [
        ([], [], [], "indptr must start"),
        ([1, 1], [], [], "indptr must start"),
        ([0, 2, 1], [0, 1], [1, 1], "never fall"),
        ([0, 1], [0, 0], [1, 1], "entries"),
        ([0, 1], [0], [1, 1], "entries"),
        ([0, 1], [1], [1], r"must be in \[0, 1\)"),
        ([0, 1], [-1], [1], r"must be in \[0, 1\)"),
    ],
)
def test_rows_that_do_not_fit_together(indptr, indices, values, match):
    with pytest.raises(ValueError, match=match):
        SparseSimilarity.of(indptr, indices, values)


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"relevance": [[1.0]]}, "relevance has shape"),
        ({"cost": [1]}, "cost has shape"),
        ({"cost": [1.0, float("nan")]}, "cost holds a value that is not finite"),
        ({"cost": tier_elements([1])}, "cost has 1 items"),
        ({"similarity": SparseSimilarity.of([0, 0], [], [])}, "similarity has 1 rows"),
        ({"forced": [True]}, "forced has shape"),
        ({"protected": [True]}, "protected has shape"),
        ({"barred": [True]}, "barred has shape"),
        ({"groups": [0]}, "groups has shape"),
        ({"ids": ["a"]}, "ids has 1 entries"),
    ],
)
def test_shapes_that_do_not_agree(arguments, match):
    good = {"relevance": [0.5, 0.5], "cost": [1, 1], "budget": 2}
    with pytest.raises(ValueError, match=match):
        SelectionCandidates.of(**{**good, **arguments})


def test_arrays_are_plain_and_masks_are_consistent():
    pool = SelectionCandidates.of(
        [1, 0], [3, 0], 9.0, forced=[1, 0], protected=[1, 1], barred=[1, 1], groups=[0, -1]
    )
    assert pool.relevance.dtype == np.float64
    assert pool.full_cost.tolist() == [3, 1]
    assert pool.forced.tolist() == [True, False]
    assert pool.protected.tolist() == [True, False]
    assert pool.barred.tolist() == [False, True]
    assert (pool.size, pool.budget) == (2, 9)
