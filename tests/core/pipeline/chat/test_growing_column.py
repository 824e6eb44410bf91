"""A column grows at its end, and what was shown of it before stays as it was."""

from __future__ import annotations

from itertools import accumulate

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from eunoe.pipeline.chat.growing_column import GrowingColumn

RUNS = st.lists(st.lists(st.integers(0, 10**12), max_size=5), max_size=8)


@given(runs=RUNS)
def test_it_shows_all_that_was_appended(runs):
    column, values, shown = GrowingColumn(), [], []
    for run in runs:
        column.extend(run)
        values += run
        assert len(column) == len(values)
        assert column.view().dtype == np.int64
        shown.append((column.view(), list(values)))
    assert all(view.tolist() == then for view, then in shown)


@given(runs=RUNS)
def test_a_running_sum_goes_on_from_the_last_value(runs):
    column = GrowingColumn([0])
    for run in runs:
        column.add_up(run)
    assert column.view().tolist() == list(accumulate((x for run in runs for x in run), initial=0))


def test_the_same_array_is_shown_until_it_grows():
    column = GrowingColumn([1, 2])
    assert column.view() is column.view()
