"""Embeddings of the messages of one chat, and what they say about a question."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

VECTOR_LENGTH_BLIND = 16
"""Messages with a vector from which on the effect of length on likeness is taken out."""

_VECTOR_FLAT = 1e-9
_VECTOR_FIRST_ROWS = 64


def unit_vector(values: Sequence[float] | NDArray[Any]) -> NDArray[np.float32] | None:
    """The vector at length 1, shape (d,); None if it is empty, zero or not finite."""
    try:
        wide = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    if wide.ndim != 1 or not wide.size or not bool(np.isfinite(wide).all()):
        return None
    size = float(np.sqrt((wide * wide).sum()))
    if not math.isfinite(size) or size < _VECTOR_FLAT:
        return None
    return np.asarray(wide / size, dtype=np.float32)


class VectorTable:
    """A matrix that grows by one row for each message; a row may be filled in later.

    Attributes:
        dimension: Length of a row.
    """

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension
        self._rows = np.zeros((_VECTOR_FIRST_ROWS, dimension), dtype=np.float32)
        self._known = np.zeros(_VECTOR_FIRST_ROWS, dtype=np.bool_)
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def grow(self, size: int) -> None:
        """Have at least `size` rows; new ones are unknown."""
        room = len(self._known)
        if size > room:
            room = max(size, 2 * room)
            rows = np.zeros((room, self.dimension), dtype=np.float32)
            rows[: self._size] = self._rows[: self._size]
            known = np.zeros(room, dtype=np.bool_)
            known[: self._size] = self._known[: self._size]
            self._rows, self._known = rows, known
        self._size = max(self._size, size)

    def put(self, row: int, vector: NDArray[np.float32]) -> bool:
        """Fill in a row with a unit vector; False if its length is another."""
        if vector.shape != (self.dimension,):
            return False
        self.grow(row + 1)
        self._rows[row] = vector
        self._known[row] = True
        return True

    def unknown(self) -> list[int]:
        """The rows that are not filled in, ascending."""
        return np.flatnonzero(~self._known[: self._size]).tolist()

    def likeness(self, question: NDArray[np.float32], *, upto: int) -> NDArray[np.float64]:
        """Cosine of each row below `upto` with a unit vector, shape (upto,), NaN for unknown ones.

        Summed without BLAS, so that the same rows give the same bytes on any number of cores.
        """
        n = min(upto, self._size)
        out = np.full(upto, np.nan)
        if question.shape == (self.dimension,):
            cosine = np.einsum("ij,j->i", self._rows[:n], question).astype(np.float64)
            out[:n] = np.where(self._known[:n], cosine, np.nan)
        return out


def vector_column(
    likeness: NDArray[np.float64],
    tokens: NDArray[np.float64],
    segment: NDArray[np.int64],
    *,
    near: float,
) -> NDArray[np.float64] | None:
    """How much more than its length explains a message resembles the question.

    Cosines mean different things in different models, and long texts resemble everything: the
    cosine enters as its residual after a parabola in ``ln(tokens)``, in standard deviations ``z``
    of all residuals.
    What stands beside a message counts too: ``z_i + near (z_{i-1} + z_{i+1})`` inside a segment.

    Args:
        likeness: Cosine of each message with the question, NaN for no vector, shape (n,).
        tokens: Tokens of each message, at least 1, shape (n,).
        segment: Segment number of each message, shape (n,).
        near: Share of a neighbour, in [0, 1].

    Returns:
        Shape (n,), 0 for messages without a vector; None if fewer than two have one or all are
        alike.
    """
    known = np.isfinite(likeness)
    if int(known.sum()) < 2:
        return None
    rest = likeness[known] - likeness[known].mean()
    if rest.size >= VECTOR_LENGTH_BLIND:
        rest = rest - _length_trend(rest, np.log(np.maximum(1.0, tokens[known])))
    spread = float(np.sqrt((rest * rest).mean()))
    if spread < _VECTOR_FLAT:
        return None
    z = np.zeros(likeness.shape)
    z[known] = rest / spread
    out = z.copy()
    beside = near * (segment[1:] == segment[:-1])
    out[1:] += beside * z[:-1]
    out[:-1] += beside * z[1:]
    return np.asarray(np.where(known, out, 0.0))


def beyond_chance(column: NDArray[np.float64]) -> NDArray[np.float64]:
    """What of a column of standard scores exceeds the largest of so many random ones.

    ``max(0, z - e(n))`` with ``a = sqrt(2 ln n)``, ``e(n) = a - (ln ln n + ln 4 pi) / (2 a)`` and
    n at least ``VECTOR_LENGTH_BLIND``, shape (n,).

    Source of formula: location of the maximum of n standard normal variables (Gumbel limit).
    """
    size = math.log(max(VECTOR_LENGTH_BLIND, column.size))
    bound = math.sqrt(2.0 * size)
    bound -= (math.log(size) + math.log(4.0 * math.pi)) / (2.0 * bound)
    return np.asarray(np.maximum(0.0, column - bound))


def _length_trend(values: NDArray[np.float64], length: NDArray[np.float64]) -> NDArray[np.float64]:
    """The parabola in `length` through the values, less their mean, shape (n,).

    The highest and the lowest twentieth enter at the bound of the rest: what stands out is looked
    for, so it must not draw the trend to itself.
    """
    ordered = np.sort(values)
    cut = values.size // 20
    bounded = np.clip(values, ordered[cut], ordered[-1 - cut])
    bounded -= bounded.mean()
    line = length - length.mean()
    bend = line * line
    bend -= bend.mean()
    bend -= _share_along(bend, line) * line
    return np.asarray(_share_along(bounded, line) * line + _share_along(bounded, bend) * bend)


def _share_along(values: NDArray[np.float64], direction: NDArray[np.float64]) -> float:
    """The coefficient of a direction in the values; 0 for no direction."""
    power = float((direction * direction).sum())
    return float((values * direction).sum()) / power if power > _VECTOR_FLAT else 0.0
