import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eunoe.stages.structure.waveform import (
    age_decay,
    gain_wave,
    lift_spans,
    maximal_spans,
    standing_places,
    standing_spans,
)


def repeated_maximum(gains):
    """Take the best run, then the best of what lies left and right of it."""

    def best(low, high):
        top = (0, None)
        for i in range(low, high):
            total = 0
            for j in range(i, high):
                total += gains[j]
                key = (total, -(j - i))
                if total > 0 and (top[1] is None or key > top[0]):
                    top = (key, (i, j, total))
        return top[1]

    def split(low, high):
        found = best(low, high)
        if found is None:
            return []
        return [*split(low, found[0]), found, *split(found[1] + 1, high)]

    return split(0, len(gains))


@pytest.mark.property
@given(st.lists(st.integers(-9, 9), max_size=14))
def test_linear_time_equals_taking_the_maximum_again_and_again(gains):
    assert [s for *_, s in maximal_spans(gains)] == [s for *_, s in repeated_maximum(gains)]


def test_published_example():
    gains = [4, -5, 3, -3, 1, 2, -2, 2, -2, 1, 5]
    assert maximal_spans(gains) == [(0, 0, 4), (2, 2, 3), (4, 10, 7)]


def test_gains_by_hand():
    # mean 1, deviation 1
    assert gain_wave(np.array([0.0, 2.0])) == pytest.approx([-1.6, 0.4])
    assert gain_wave(np.ones(3)).tolist() == [-0.6] * 3
    assert gain_wave(np.array([1.0, np.nan])).tolist() == [-0.6] * 2
    assert gain_wave(np.zeros(0)).size == 0


def test_spans_must_reach_the_threshold():
    wave = np.array([0.0, 0.0, 0.0, 1.0, 0.9, 0.0, 0.0, 0.0])
    spans = standing_spans(wave)
    assert [(first, last) for first, last, _ in spans] == [(3, 4)]
    assert standing_spans(np.array([0.0, 2.0])) == []


def test_lifts_by_hand():
    relevance = np.array([0.0, 0.0, 0.0, 1.0, 0.1, 0.9, 0.0, 0.0, 0.0, 0.0])
    turn = np.array([0, 1, 2, 3, 3, 4, 5, 6, 7, 8])
    got = lift_spans(relevance, turn)
    assert got.tolist() == [0.0, 0.0, 0.25, 1.0, 0.4, 0.9, 0.225, 0.0, 0.0, 0.0]


@pytest.mark.property
@given(st.lists(st.floats(0, 1), max_size=20))
def test_nothing_is_lowered_or_leaves_the_range(values):
    relevance = np.array(values)
    got = lift_spans(relevance, np.arange(len(values)) // 2)
    assert (got >= relevance).all()
    assert (got <= max(values, default=0.0)).all()


def test_decay():
    age = np.array([0.0, 1.0, 1e6])
    assert age_decay(age) == pytest.approx([1.0, 0.99, 0.5])
    assert age_decay(age, floor=0.0)[1] == pytest.approx(0.98)
    assert age_decay(age, off=True).tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("fits", "bounds", "places"),
    [
        ([], [0], []),
        ([0.0] * 6, [0, 2, 4, 6], []),
        ([0, 0, 0.9, 0.8, 0, 0, 0, 0, 0, 0], [0, 2, 4, 6, 8, 10], [(2, 3)]),
        ([0, 0, 0.9, 0.8, 0, 0, 0, 0, 0, 0], [0, 2, 4, 6, 8, 10, 14], [(2, 3)]),
        ([0.5] * 4, [0, 2, 4], []),
    ],
)
def test_stretches_of_messages_that_stand_out(fits, bounds, places):
    assert standing_places(fits, bounds) == places
