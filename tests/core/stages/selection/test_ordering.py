import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eunoe.stages.selection.ordering import ascending_order, largest_places

VALUES = st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]) | st.floats(0.0, 1.0), max_size=40)


@pytest.mark.property
@settings(max_examples=200)
@given(VALUES)
def test_an_order_is_that_of_a_stable_sort(values):
    given_values = np.asarray(values, dtype=float)
    expected = np.argsort(given_values, kind="stable").tolist()
    assert ascending_order(given_values).tolist() == expected


@pytest.mark.property
@settings(max_examples=200)
@given(VALUES, st.integers(1, 12))
def test_the_largest_are_the_first_of_a_stable_sort(values, most):
    given_values = np.asarray(values, dtype=float)
    expected = sorted(np.argsort(-given_values, kind="stable")[:most].tolist())
    assert largest_places(given_values, most).tolist() == expected


def test_of_equals_the_earliest_are_taken():
    assert largest_places(np.asarray([0.5, 1.0, 0.5, 0.5]), 2).tolist() == [0, 1]
    assert ascending_order(np.asarray([2.0, 1.0, 1.0])).tolist() == [1, 2, 0]
    assert largest_places(np.zeros(0), 3).tolist() == []
