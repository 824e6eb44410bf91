"""Cosine likeness between sparse unit rows, and the nearest neighbours in it.

Source: product of a sparse matrix with its transpose: every term joins the items that hold it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eunoe.stages.selection.candidates import SparseSimilarity

SIMILARITY_NEIGHBOURS = 32
SIMILARITY_FLOOR = 0.05
SIMILARITY_PAIRS = 250_000


def unit_rows(indptr: ArrayLike, values: ArrayLike) -> NDArray[np.float64]:
    """Weights scaled so that every row has length 1.

    Args:
        indptr: shape (n + 1,), row boundaries.
        values: shape (nnz,), term weights; values that are not finite become 0.

    Returns:
        Shape (nnz,); a row without weight stays 0.
    """
    start = np.asarray(indptr, dtype=np.intp)
    weight = np.nan_to_num(np.asarray(values, dtype=np.float64), nan=0.0, posinf=0.0, neginf=0.0)
    row = np.repeat(np.arange(start.size - 1, dtype=np.intp), np.diff(start))
    length = np.sqrt(np.bincount(row, weights=weight * weight, minlength=start.size - 1))
    length[length == 0.0] = 1.0
    result: NDArray[np.float64] = weight / length[row]
    return result


def cosine_matrix(
    indptr: ArrayLike,
    indices: ArrayLike,
    values: ArrayLike,
    *,
    max_pairs: int = SIMILARITY_PAIRS,
) -> NDArray[np.float64]:
    """All cosines between n sparse unit rows.

    Args:
        indptr: shape (n + 1,), row boundaries.
        indices: shape (nnz,), term ids of any size, at least 0, each at most once per row.
        values: shape (nnz,), term weights of unit rows, see :func:`unit_rows`.
        max_pairs: at most so many products; the terms held by most items are left out beyond it,
            which under inverse document frequency weigh least.

    Returns:
        Shape (n, n), symmetric, diagonal 1. Cosines of non-negative rows are never too large.

    Raises:
        ValueError: the arrays do not describe n rows.

    Note:
        O(products + n²): for a few hundred candidates, not for a whole history. Sums run in the
        order of terms, so the bits are the same on every machine.
    """
    start = np.asarray(indptr, dtype=np.intp)
    term = np.asarray(indices, dtype=np.int64)
    weight = np.asarray(values, dtype=np.float64)
    size = start.size - 1
    if size < 0 or term.shape != weight.shape or term.ndim != 1 or start[-1] != term.size:
        raise ValueError("rows: indices and values must have indptr[-1] entries")
    row = np.repeat(np.arange(size, dtype=np.intp), np.diff(start))
    order = np.argsort(term, kind="stable")
    term, row, weight = term[order], row[order], weight[order]
    first = np.flatnonzero(np.diff(term, prepend=-1))
    width = np.diff(first, append=term.size)
    # Every entry meets the later entries of its term, unless the term is left out.
    met = np.where(_cheap_terms(width, max_pairs), width, 0)
    place = np.arange(term.size) - np.repeat(first, width)
    partners = np.maximum(np.repeat(met, width) - 1 - place, 0)
    before = np.cumsum(partners) - partners
    right = np.arange(int(partners.sum()))
    right += np.repeat(np.arange(1, term.size + 1) - before, partners)
    key = np.repeat(row * size, partners) + row[right]
    product = np.repeat(weight, partners) * weight[right]
    upper = np.bincount(key, weights=product, minlength=size * size)
    matrix = upper.reshape(size, size).astype(np.float64)
    matrix = np.clip(matrix + matrix.T, -1.0, 1.0)
    np.fill_diagonal(matrix, 1.0)
    return matrix


def _cheap_terms(width: NDArray[np.intp], max_pairs: int) -> NDArray[np.bool_]:
    """Which terms to join: the rarest first while the number of products stays within bounds."""
    products = width * (width - 1) // 2
    order = np.argsort(products, kind="stable")
    cheap = np.zeros(width.size, dtype=bool)
    cheap[order] = np.cumsum(products[order]) <= max_pairs
    return cheap


def nearest_neighbours(
    cosine: ArrayLike,
    *,
    count: int = SIMILARITY_NEIGHBOURS,
    floor: float = SIMILARITY_FLOOR,
) -> SparseSimilarity:
    """The nearest neighbours in a matrix of cosines, as symmetric sparse rows.

    Args:
        cosine: shape (n, n), symmetric; negative values count as 0.
        count: how many neighbours an item names, at least 1; the newest among equals.
        floor: likeness up to this counts as none, in [0, 1).

    Returns:
        A pair is stored in both rows when either names the other, so a row may be longer.

    Raises:
        ValueError: the matrix is not square, or ``count`` or ``floor`` is out of range.
    """
    matrix = np.nan_to_num(np.array(cosine, dtype=np.float64), nan=0.0)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"cosine has shape {matrix.shape}, allowed: (n, n)")
    if count < 1 or not 0.0 <= floor < 1.0:
        raise ValueError(f"count is {count!r}, floor is {floor!r}; allowed: from 1, [0, 1)")
    size = matrix.shape[0]
    np.fill_diagonal(matrix, 0.0)
    named = matrix > floor
    if size > count:
        edge = np.partition(matrix, size - count, axis=1)[:, size - count, None]
        above = matrix > edge
        room = count - above.sum(axis=1, keepdims=True)
        equal = (matrix == edge)[:, ::-1]
        newest = (equal & (np.cumsum(equal, axis=1) <= room))[:, ::-1]
        named &= above | newest
    named |= named.T
    row, column = np.nonzero(named)
    indptr = np.zeros(size + 1, dtype=np.intp)
    np.cumsum(np.bincount(row, minlength=size), out=indptr[1:])
    return SparseSimilarity(
        indptr=indptr,
        indices=column.astype(np.intp),
        values=np.minimum(matrix[row, column], 1.0),
    )


def knn_similarity(
    indptr: ArrayLike,
    indices: ArrayLike,
    values: ArrayLike,
    *,
    count: int = SIMILARITY_NEIGHBOURS,
    floor: float = SIMILARITY_FLOOR,
    max_pairs: int = SIMILARITY_PAIRS,
) -> SparseSimilarity:
    """Nearest neighbours by cosine among sparse unit rows.

    Args:
        indptr: shape (n + 1,), row boundaries.
        indices: shape (nnz,), term ids.
        values: shape (nnz,), weights of unit rows.
        count: see :func:`nearest_neighbours`.
        floor: see :func:`nearest_neighbours`.
        max_pairs: see :func:`cosine_matrix`.

    Returns:
        n symmetric rows.

    Raises:
        ValueError: see both.
    """
    cosine = cosine_matrix(indptr, indices, values, max_pairs=max_pairs)
    return nearest_neighbours(cosine, count=count, floor=floor)
