"""Terms of a growing list of messages as sparse rows, for cosines between messages."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eunoe.stages.scoring.analysis import TextAnalysis


@dataclass(frozen=True, slots=True, eq=False)
class TermMatrix:
    """n sparse rows over numbered terms.

    Attributes:
        indptr: shape (n + 1,), row i is ``indptr[i]`` to ``indptr[i + 1] - 1``.
        terms: shape (nnz,), term numbers, each at most once per row.
        counts: shape (nnz,), how often, above 0.
        width: how many terms there are.
    """

    indptr: NDArray[np.int64]
    terms: NDArray[np.int64]
    counts: NDArray[np.float64]
    width: int

    @property
    def size(self) -> int:
        """The number of rows, n."""
        return int(self.indptr.size - 1)

    @property
    def rows(self) -> NDArray[np.int64]:
        """The row of each entry, shape (nnz,)."""
        return np.repeat(np.arange(self.size, dtype=np.int64), np.diff(self.indptr))

    def holders(self) -> NDArray[np.float64]:
        """In how many rows each term stands, shape (width,)."""
        return np.bincount(self.terms, minlength=self.width).astype(np.float64)

    def joined(self, group: NDArray[np.int64]) -> TermMatrix:
        """Rows added up by group.

        Args:
            group: Group number of each row, from 0; shape (n,).
        """
        size = int(group.max()) + 1 if group.size else 0
        width = max(1, self.width)
        key, place = np.unique(group[self.rows] * width + self.terms, return_inverse=True)
        counts = np.bincount(place, weights=self.counts, minlength=key.size)
        indptr = np.zeros(size + 1, dtype=np.int64)
        np.cumsum(np.bincount(key // width, minlength=size), out=indptr[1:])
        return TermMatrix(indptr, key % width, np.asarray(counts, dtype=np.float64), self.width)

    def picked(self, rows: NDArray[np.int64]) -> TermMatrix:
        """Some of the rows, in the order given."""
        lengths = np.diff(self.indptr)[rows]
        indptr = np.zeros(rows.size + 1, dtype=np.int64)
        np.cumsum(lengths, out=indptr[1:])
        place = np.arange(int(indptr[-1])) + np.repeat(self.indptr[rows] - indptr[:-1], lengths)
        return TermMatrix(indptr, self.terms[place], self.counts[place], self.width)


class TermRows:
    """Grows message by message; numbers terms in the order in which they are met."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._indptr = array("q", (0,))
        self._terms = array("q")
        self._counts = array("q")

    def __len__(self) -> int:
        return len(self._indptr) - 1

    def append(self, analysis: TextAnalysis) -> None:
        """Add the terms of the next message."""
        numbers = self._numbers
        self._terms.extend([numbers.setdefault(t, len(numbers)) for t in analysis.terms])
        self._counts.extend(analysis.counts)
        self._indptr.append(len(self._terms))

    def matrix(self) -> TermMatrix:
        """All rows so far."""
        return TermMatrix(
            np.array(self._indptr, dtype=np.int64),
            np.array(self._terms, dtype=np.int64),
            np.array(self._counts, dtype=np.float64),
            len(self._numbers),
        )

    def column(self, terms: Sequence[str], counts: Sequence[int]) -> NDArray[np.float64]:
        """Counts by term number, shape (width,); terms that no message holds are left out."""
        out = np.zeros(len(self._numbers))
        for term, count in zip(terms, counts, strict=True):
            number = self._numbers.get(term)
            if number is not None:
                out[number] = count
        return out
