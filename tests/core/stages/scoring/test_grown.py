import numpy as np
import pytest

from eunoe.stages.scoring.grown import GrownColumns


def test_columns_grow_and_what_was_read_stays():
    columns = GrownColumns("a", "b")
    columns.append(3)[:] = [np.arange(3.0), np.ones(3)]
    early = columns.column("a", 2)
    for _ in range(100):
        columns.append(5)[0] = 7.0
    assert len(columns) == 503
    assert early.tolist() == [0.0, 1.0]
    assert columns.column("a", 4).tolist() == [0.0, 1.0, 2.0, 7.0]
    assert columns.column("b", 503).sum() == 3.0


def test_nothing_is_appended():
    columns = GrownColumns("a")
    assert columns.append(0).shape == (1, 0)
    assert len(columns) == 0
    assert columns.column("a", 0).size == 0


def test_a_column_is_not_written_to():
    columns = GrownColumns("a")
    columns.append(1)[0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        columns.column("a", 1)[0] = 2.0
