import math

import numpy as np
import pytest

from eunoe.stages.scoring.signals import (
    Surroundings,
    bm25_column,
    box_sum,
    date_closeness,
    inverse_frequency,
    nearby_presence,
    same_segment,
    segment_starts,
    term_presence,
)


def test_bm25_by_hand():
    # three messages of 2, 4, 6 terms (mean 4); one term, held once and twice by the first two
    frequency = np.array([[1.0, 2.0, 0.0]])
    length = np.array([2.0, 4.0, 6.0])
    idf = inverse_frequency(np.array([2.0]), 3)
    assert idf[0] == pytest.approx(math.log(1 + 1.5 / 2.5))
    got = bm25_column(frequency, length, idf, 1.2, 0.75)
    first = idf[0] * 1 * 2.2 / (1 + 1.2 * (0.25 + 0.75 * 0.5))
    second = idf[0] * 2 * 2.2 / (2 + 1.2)
    assert got == pytest.approx([first, second, 0.0])


def test_bm25_of_nothing():
    assert bm25_column(np.zeros((0, 3)), np.zeros(3), np.zeros(0), 1.2, 0.75).tolist() == [0, 0, 0]


def test_presence_by_hand():
    assert term_presence(np.array([0.0, 1.0, 3.0]), np.array([1.0, 1.0, 1.0])).tolist() == [
        0.0,
        0.5,
        0.75,
    ]


def test_nearby_by_hand_and_not_across_segments():
    segment = np.array([0, 0, 0, 0, 1])
    presence = np.array([[0.0, 0.5, 0.0, 0.0, 0.0], [0.5, 0.5, 0.0, 0.0, 0.0]])
    same = (same_segment(segment, 1), same_segment(segment, 2))
    got, both = nearby_presence(presence, same, 0.6)
    assert got == pytest.approx([0.3, 0.5, 0.3, 0.18, 0.0])
    assert both[0] == pytest.approx(1 - 0.5 * 0.7)
    assert both[2] == pytest.approx(1 - 0.7 * 0.82)
    alone = (same_segment(np.array([0]), 1), same_segment(np.array([0]), 2))
    assert nearby_presence(np.array([[0.5]]), alone, 0.6).tolist() == [[0.5]]


def test_box_and_segments():
    values = np.array([1.0, 2.0, 3.0, 4.0])
    first, after = np.array([0, 0, 1, 2]), np.array([2, 3, 4, 4])
    assert box_sum(values, first, after).tolist() == [3, 6, 9, 7]
    assert box_sum(np.array([values, values]), first, after).tolist() == [[3, 6, 9, 7]] * 2
    assert segment_starts(np.array([0, 0, 1, 2, 2])).tolist() == [0, 2, 3]


def test_surroundings_stay_in_the_segment():
    around = Surroundings(np.array([0, 0, 1, 1]), np.ones(4), reach=6, k1=1.0, b=0.0)
    got = around.presence(np.array([[1.0, 0.0, 0.0, 0.0]]))
    assert got.tolist() == [[0.5, 0.5, 0.0, 0.0]]


def test_dates_fade_with_days():
    got = date_closeness(np.array([0, 10, 17, 3]), ((10, 10),), 7.0)
    assert got == pytest.approx([0.0, 1.0, math.exp(-1), math.exp(-1)])
