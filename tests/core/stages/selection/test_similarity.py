import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eunoe.stages.selection import cosine_matrix, knn_similarity, nearest_neighbours, unit_rows


@st.composite
def bags(draw):
    """(indptr, term ids, weights) of up to 8 rows over few terms with wide ids."""
    rows = draw(st.lists(st.sets(st.integers(0, 6), max_size=5), min_size=0, max_size=8))
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(int)
    terms = np.asarray([term * 1_000_003 for row in rows for term in sorted(row)], dtype=int)
    weights = draw(st.lists(st.floats(0, 4, width=16), min_size=terms.size, max_size=terms.size))
    return indptr, terms, unit_rows(indptr, weights)


def dense(indptr, terms, values):
    matrix = np.zeros((len(indptr) - 1, 7))
    for row in range(len(indptr) - 1):
        here = slice(indptr[row], indptr[row + 1])
        matrix[row, terms[here] // 1_000_003] = values[here]
    return matrix


@pytest.mark.property
@settings(max_examples=60)
@given(bags())
def test_cosines_are_those_of_dense_rows(bag):
    matrix = dense(*bag)
    expected = matrix @ matrix.T
    np.fill_diagonal(expected, 1.0)
    assert cosine_matrix(*bag) == pytest.approx(expected)


@pytest.mark.property
@settings(max_examples=60)
@given(bags(), st.integers(0, 20))
def test_with_fewer_products_no_cosine_grows(bag, limit):
    assert (cosine_matrix(*bag, max_pairs=limit) <= cosine_matrix(*bag) + 1e-12).all()


@pytest.mark.property
@settings(max_examples=60)
@given(bags(), st.integers(1, 4), st.sampled_from([0.0, 0.3]))
def test_neighbours_are_the_most_alike_and_the_newest_among_equals(bag, count, floor):
    matrix = cosine_matrix(*bag)
    rows = nearest_neighbours(matrix, count=count, floor=floor)
    size = len(matrix)
    pairs = set()
    for item in range(size):
        others = sorted((k for k in range(size) if k != item), key=lambda k: (-matrix[item, k], -k))
        for other in others[:count]:
            if matrix[item, other] > floor:
                pairs |= {(item, other), (other, item)}
    row = np.repeat(np.arange(size), np.diff(rows.indptr))
    assert list(zip(row.tolist(), rows.indices.tolist(), strict=True)) == sorted(pairs)
    assert rows.values.tolist() == [matrix[pair] for pair in sorted(pairs)]


def test_copies_do_not_fill_the_rows():
    rows = nearest_neighbours(np.ones((300, 300)), count=4)
    assert rows.values.size <= 2 * 4 * 300


def test_knn_joins_both():
    indptr, terms = [0, 2, 4, 5], [1, 2, 1, 2, 9]
    rows = knn_similarity(indptr, terms, unit_rows(indptr, [1, 1, 1, 0, 1]))
    assert rows.indices.tolist() == [1, 0]
    assert rows.values.tolist() == pytest.approx([0.5**0.5] * 2)
    assert rows.indptr.tolist() == [0, 1, 2, 2]


def test_rows_are_scaled_to_length_1():
    values = unit_rows([0, 2, 2, 3, 4], [3, 4, 0, float("nan")])
    assert values.tolist() == pytest.approx([0.6, 0.8, 0.0, 0.0])


def test_no_rows():
    assert cosine_matrix([0], [], []).shape == (0, 0)
    assert nearest_neighbours(np.zeros((0, 0))).size == 0


@pytest.mark.parametrize(
    "arrays",
    [([0, 2], [1], [1.0]), ([0, 1], [1], [1.0, 2.0]), ([], [], []), ([0, 1], [[1]], [[1]])],
)
def test_rows_that_do_not_fit_together(arrays):
    with pytest.raises(ValueError, match="rows: "):
        cosine_matrix(*arrays)


@pytest.mark.parametrize(
    ("matrix", "arguments", "match"),
    [
        ([1.0], {}, "cosine has shape"),
        ([[1.0, 0.0]], {}, "cosine has shape"),
        ([[1.0]], {"count": 0}, "count is 0"),
        ([[1.0]], {"floor": 1.0}, "floor is 1.0"),
    ],
)
def test_arguments_out_of_range(matrix, arguments, match):
    with pytest.raises(ValueError, match=match):
        nearest_neighbours(matrix, **arguments)
