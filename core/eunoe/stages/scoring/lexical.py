"""Word scores as published elsewhere: BM25Okapi, and cosines of TF-IDF weights."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from eunoe.stages.scoring.term_rows import TermMatrix

OKAPI_K1 = 1.5
OKAPI_B = 0.75
OKAPI_EPSILON = 0.25


def okapi_column(
    matrix: TermMatrix,
    asked: NDArray[np.float64],
    *,
    k1: float = OKAPI_K1,
    b: float = OKAPI_B,
    epsilon: float = OKAPI_EPSILON,
    idf: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """BM25Okapi of every row.

    ``idf = ln((N - df + 1/2)/(df + 1/2))``; where that is negative, ``epsilon`` times the mean idf
    of all terms, at least 0. ``sum_t idf_t f (k1 + 1)/(f + k1 (1 - b + b length/mean))``.

    Args:
        matrix: n rows.
        asked: How often the question holds each term, shape (width,).
        idf: Weight of each term in place of Okapi's own, which is 0 where half of the rows hold it.

    Returns:
        Scores, shape (n,).

    Source of formula: the BM25Okapi variant of rank_bm25, which lethes uses.
    """
    if not matrix.terms.size:
        return np.zeros(matrix.size)
    if idf is None:
        holders = matrix.holders()
        idf = np.log(matrix.size - holders + 0.5) - np.log(holders + 0.5)
        idf = np.where(idf < 0.0, epsilon * max(0.0, float(idf.mean())), idf)
    rows = matrix.rows
    length = np.bincount(rows, weights=matrix.counts, minlength=matrix.size)
    norm = k1 * (1.0 - b + b * length / float(length.mean()))
    part = matrix.counts * (k1 + 1.0) / (matrix.counts + norm[rows])
    gain = (asked * idf)[matrix.terms] * part
    return np.bincount(rows, weights=gain, minlength=matrix.size).astype(np.float64)


def smooth_frequency(matrix: TermMatrix) -> NDArray[np.float64]:
    """``ln((1 + N)/(1 + df)) + 1`` of every term, shape (width,), always positive."""
    return np.asarray(np.log((1.0 + matrix.size) / (1.0 + matrix.holders())) + 1.0)


def unit_weights(matrix: TermMatrix, idf: NDArray[np.float64]) -> NDArray[np.float64]:
    """TF-IDF weights ``(1 + ln f) idf`` with every row scaled to length 1, shape (nnz,)."""
    weight = (1.0 + np.log(matrix.counts)) * idf[matrix.terms]
    rows = matrix.rows
    length = np.sqrt(np.bincount(rows, weights=weight * weight, minlength=matrix.size))
    length[length == 0.0] = 1.0
    return np.asarray(weight / length[rows])


def question_cosine(
    matrix: TermMatrix,
    weights: NDArray[np.float64],
    idf: NDArray[np.float64],
    asked: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Cosine of every row with the question, in [0, 1], shape (n,); 0 without a common term.

    Args:
        matrix: n rows; ``weights`` are theirs, from ``unit_weights``.
        idf: Shape (width,).
        asked: How often the question holds each term, shape (width,).
    """
    held = asked > 0.0
    question = np.zeros(asked.shape)
    question[held] = (1.0 + np.log(asked[held])) * idf[held]
    length = float(np.sqrt(question @ question))
    if length == 0.0:
        return np.zeros(matrix.size)
    product = weights * question[matrix.terms] / length
    return np.minimum(1.0, np.bincount(matrix.rows, weights=product, minlength=matrix.size))


def neighbour_cosine(matrix: TermMatrix, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Cosine of every row with the row before it, shape (n,); 0 for the first."""
    out = np.zeros(matrix.size)
    if matrix.size < 2 or not matrix.terms.size:
        return out
    order = np.lexsort((matrix.terms, matrix.rows))
    key = (matrix.rows * matrix.width + matrix.terms)[order]
    sought = key - matrix.width
    place = np.minimum(np.searchsorted(key, sought), key.size - 1)
    met = key[place] == sought
    product = np.where(met, weights[order] * weights[order][place], 0.0)
    return np.minimum(1.0, np.bincount(matrix.rows[order], product, minlength=matrix.size))
