from __future__ import annotations

from math import log, sqrt

import numpy as np
import pytest
from hypothesis import given, strategies

from eunoe.stages.scoring.analysis import analyse_text
from eunoe.stages.scoring.lexical import (
    neighbour_cosine,
    okapi_column,
    question_cosine,
    smooth_frequency,
    unit_weights,
)
from eunoe.stages.scoring.term_rows import TermRows


def rows_of(texts):
    rows = TermRows()
    for text in texts:
        rows.append(analyse_text(text, role="user"))
    return rows


def test_okapi_by_hand():
    rows = rows_of(["dog dog lamp", "cloud", "lamp river", "tree", "sun"])
    got = okapi_column(rows.matrix(), rows.column(("dog",), (1,)))
    # df 1 of 5: idf = ln(4.5/1.5) = ln 3; length 3, mean 8/5; f 2
    norm = 1.5 * (0.25 + 0.75 * 3 / 1.6)
    assert got.tolist() == pytest.approx([log(3) * 2 * 2.5 / (2 + norm), 0, 0, 0, 0])


def test_okapi_of_a_word_that_most_messages_hold():
    rows = rows_of(["dog lamp", "dog", "dog cloud", "river"])
    got = okapi_column(rows.matrix(), rows.column(("dog",), (1,)))
    # idf of dog = ln(1.5/3.5) < 0; mean of all four terms: (ln(1.5/3.5) + 3 ln(3.5/1.5)) / 4
    floor = 0.25 * 2 * log(3.5 / 1.5) / 4
    norm = 1.5 * (0.25 + 0.75 * 1 / 1.5)
    assert got[1] == pytest.approx(floor * 2.5 / (1 + norm))
    assert got[3] == 0


def test_the_cosine_by_hand():
    rows = rows_of(["dog lamp", "lamp", "cloud"])
    matrix = rows.matrix()
    idf = smooth_frequency(matrix)
    assert idf.tolist() == pytest.approx([log(4 / 2) + 1, log(4 / 3) + 1, log(4 / 2) + 1])
    got = question_cosine(matrix, unit_weights(matrix, idf), idf, rows.column(("lamp",), (1,)))
    dog, lamp = idf[0], idf[1]
    assert got.tolist() == pytest.approx([lamp / sqrt(dog**2 + lamp**2), 1.0, 0.0])


def test_neighbours():
    rows = rows_of(["dog lamp", "dog lamp", "cloud", "cloud dog"])
    matrix = rows.matrix()
    weights = unit_weights(matrix, np.ones(matrix.width))
    got = neighbour_cosine(matrix, weights)
    assert got.tolist() == pytest.approx([0.0, 1.0, 0.0, sqrt(0.5)])


@pytest.mark.parametrize("texts", [[], [""], ["", ""], ["dog"]])
def test_little_or_nothing(texts):
    rows = rows_of(texts)
    matrix = rows.matrix()
    idf = smooth_frequency(matrix)
    asked = rows.column(("unheard",), (1,))
    assert okapi_column(matrix, asked).tolist() == [0.0] * len(texts)
    weights = unit_weights(matrix, idf)
    assert question_cosine(matrix, weights, idf, asked).tolist() == [0.0] * len(texts)
    assert neighbour_cosine(matrix, weights).tolist() == [0.0] * len(texts)


@given(
    strategies.lists(
        strategies.lists(strategies.sampled_from("dog lamp cloud river".split())).map(" ".join),
        min_size=1,
        max_size=8,
    )
)
def test_cosines_are_in_the_unit_range_and_okapi_is_not_negative(texts):
    rows = rows_of(texts)
    matrix = rows.matrix()
    idf = smooth_frequency(matrix)
    weights = unit_weights(matrix, idf)
    asked = rows.column(("dog", "lamp"), (2, 1))
    for column in (question_cosine(matrix, weights, idf, asked), neighbour_cosine(matrix, weights)):
        assert (column >= 0).all()
        assert (column <= 1).all()
    assert (okapi_column(matrix, asked) >= 0).all()
