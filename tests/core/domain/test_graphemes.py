"""A cut never falls inside what people see as one character."""

from __future__ import annotations

import pytest

from eunoe.domain.graphemes import whole_grapheme

WHOLE = ["e\u0301", "👩\u200d🔬", "👍🏽", "🇩🇪", "\r\n", "☎\ufe0f", "कि", "1\ufe0f\u20e3"]


@pytest.mark.parametrize("cluster", WHOLE)
@pytest.mark.parametrize("step", [1, -1])
def test_every_cut_moves_out_of_a_cluster(cluster: str, step: int):
    text = f"ab{cluster}cd"
    end = 2 + len(cluster)
    for place in range(3, end):
        assert whole_grapheme(text, place, step) == (end if step > 0 else 2)


@pytest.mark.parametrize("place", [0, 1, 2, 4, 5, 9])
def test_other_cuts_stay(place: int):
    assert whole_grapheme("ab🇩🇪cd", place, 1) == place


def test_flags_are_paired_from_the_left():
    assert whole_grapheme("🇩🇪🇫🇷", 2, 1) == 2
    assert whole_grapheme("🇩🇪🇫🇷", 3, -1) == 2


def test_a_run_without_end_is_given_up():
    assert whole_grapheme("a" + "\u0301" * 500, 100, 1) == 164
