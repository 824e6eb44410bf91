from datetime import date

import numpy as np
import pytest

from eunoe.stages.scoring.columns import day_column, speaker_column, vector_column


def test_a_date_without_a_year_is_tried_in_every_year():
    days = np.array([0, date(2023, 5, 8).toordinal(), date(2024, 5, 8).toordinal()])
    got = day_column(((0, 5, 8),), days, 7.0)
    assert got is not None
    assert got.tolist() == [0.0, 1.0, 1.0]
    assert day_column((), days, 7.0) is None
    assert day_column(((2023, 5, 8),), np.zeros(3, dtype=np.int64), 7.0) is None


def test_speaker_signs():
    assert speaker_column(np.array([0, 1, -1], dtype=np.int32), 0).tolist() == [1.0, -1.0, 0.0]


def test_vectors_missing_and_broken_are_neutral():
    one, other = np.array([1.0, 0.0], np.float32), np.array([0.0, 1.0], np.float32)
    broken = np.array([np.nan, 0.0], np.float32)
    got = vector_column([one, None, other, broken], one)
    assert got is not None
    assert got == pytest.approx([1.0, 0.0, -1.0, 0.0])
    assert vector_column([one, one], one) is None
    assert vector_column([None, one], one) is None
    assert vector_column([one, other], broken) is None
