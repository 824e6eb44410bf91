from __future__ import annotations

import numpy as np
from hypothesis import given, strategies

from eunoe.stages.scoring.analysis import analyse_text
from eunoe.stages.scoring.term_rows import TermRows

TEXTS = ("dog dog lamp", "", "lamp cloud")


def rows_of(*texts: str) -> TermRows:
    rows = TermRows()
    for text in texts:
        rows.append(analyse_text(text, role="user"))
    return rows


def test_rows_hold_counts_by_term():
    rows = rows_of(*TEXTS)
    matrix = rows.matrix()
    assert (len(rows), matrix.size, matrix.width) == (3, 3, 3)
    assert matrix.indptr.tolist() == [0, 2, 2, 4]
    assert matrix.terms.tolist() == [0, 1, 1, 2]
    assert matrix.counts.tolist() == [2, 1, 1, 1]
    assert matrix.rows.tolist() == [0, 0, 2, 2]
    assert matrix.holders().tolist() == [1, 2, 1]


def test_a_question_as_a_column():
    rows = rows_of(*TEXTS)
    assert rows.column(("cloud", "unheard"), (3, 1)).tolist() == [0, 0, 3]


def test_rows_of_a_group_are_added_up():
    joined = rows_of("dog dog lamp", "lamp", "cloud").matrix().joined(np.array([0, 0, 1]))
    assert joined.indptr.tolist() == [0, 2, 3]
    assert joined.terms.tolist() == [0, 1, 2]
    assert joined.counts.tolist() == [2, 2, 1]


def test_some_rows_in_another_order():
    picked = rows_of(*TEXTS).matrix().picked(np.array([2, 1, 0]))
    assert picked.indptr.tolist() == [0, 2, 2, 4]
    assert picked.terms.tolist() == [1, 2, 0, 1]
    assert picked.counts.tolist() == [1, 1, 2, 1]


def test_nothing():
    matrix = TermRows().matrix()
    assert matrix.joined(np.zeros(0, dtype=np.int64)).size == 0
    empty = rows_of("", "").matrix().joined(np.array([0, 1]))
    assert (empty.size, empty.width) == (2, 0)


@given(
    strategies.lists(strategies.sampled_from(["dog lamp", "cloud", "", "dog"]), min_size=1),
    strategies.data(),
)
def test_joining_loses_no_word(texts, data):
    groups = data.draw(
        strategies.lists(strategies.integers(0, 1), min_size=len(texts), max_size=len(texts))
    )
    group = np.cumsum([0, *groups[1:]])
    matrix = rows_of(*texts).matrix()
    joined = matrix.joined(group)
    assert joined.size == group[-1] + 1
    for term in range(matrix.width):
        held = matrix.counts[matrix.terms == term].sum()
        assert joined.counts[joined.terms == term].sum() == held
