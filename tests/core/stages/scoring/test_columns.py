from datetime import date

import numpy as np
import pytest

from eunoe.stages.scoring.columns import day_column, label_column, speaker_column


def test_a_date_without_a_year_is_tried_in_every_year():
    days = np.array([0, date(2023, 5, 8).toordinal(), date(2024, 5, 8).toordinal()])
    got = day_column(((0, 5, 8),), days, 7.0)
    assert got is not None
    assert got.tolist() == [0.0, 1.0, 1.0]
    assert day_column((), days, 7.0) is None
    assert day_column(((2023, 5, 8),), np.zeros(3, dtype=np.int64), 7.0) is None


def test_speaker_signs():
    assert speaker_column(np.array([0, 1, -1], dtype=np.int32), 0).tolist() == [1.0, -1.0, 0.0]


def test_labels_multiply_odds_and_none_is_medium():
    got = label_column(np.array([1.0, 0.5, np.nan, 0.25, 0.0, -3.0, 7.0]))
    least = np.log(0.1)
    assert got == pytest.approx([np.log(2), 0.0, 0.0, -np.log(2), least, least, np.log(2)])
