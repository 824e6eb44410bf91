import numpy as np
import pytest

from eunoe.stages.scoring.grown import GrownColumns


def test_columns_grow_and_what_was_read_stays():
    columns = GrownColumns("a", "b")
    columns.extend({"a": np.arange(3.0), "b": np.ones(3)})
    early = columns.column("a", 2)
    for _ in range(100):
        columns.extend({"a": np.full(5, 7.0)})
    assert len(columns) == 503
    assert early.tolist() == [0.0, 1.0]
    assert columns.column("a", 4).tolist() == [0.0, 1.0, 2.0, 7.0]
    assert columns.column("b", 503).sum() == 3.0


def test_nothing_is_appended():
    columns = GrownColumns("a")
    columns.extend({})
    assert len(columns) == 0
    assert columns.column("a", 0).size == 0


def test_a_column_is_not_written_to():
    columns = GrownColumns("a")
    columns.extend({"a": np.ones(1)})
    with pytest.raises(ValueError, match="read-only"):
        columns.column("a", 1)[0] = 2.0
