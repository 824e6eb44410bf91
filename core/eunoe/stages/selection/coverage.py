"""What a set of items is worth: coverage (monotone submodular), or the seed's MIG rule.

Source: F(S) = (1 - beta) sum_{i in S} r_i + beta sum_k r_k max_{j in S} s_kj, with s_kk = 1. Its
marginal is the MIG gain r_i (1 - beta max_{j in S} s_ij) plus the coverage spilt on others.
"""

from __future__ import annotations

import math
from operator import mul
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from eunoe.stages.selection.candidates import SparseSimilarity
from eunoe.stages.selection.tiers import TierElements


class Objective(Protocol):
    """A set function over elements that greedy can walk on. State lives between ``init`` calls."""

    is_submodular: bool

    def init(self) -> None:
        """Start from the empty set."""
        ...

    def gain(self, element: int) -> float:
        """What adding the element now would bring; never negative, never grows as the set grows."""
        ...

    def gains(self) -> NDArray[np.float64]:
        """The gain of every element now, shape (m,), bit for bit equal to ``gain``."""
        ...

    def add(self, element: int) -> float:
        """Put the element in, and return what it brought."""
        ...

    def value(self) -> float:
        """The worth of the set."""
        ...


class _SimilarityRows:
    """Rows of a similarity as Python lists, unpacked when first asked for."""

    def __init__(self, similarity: SparseSimilarity | None, size: int) -> None:
        self._indptr, self._indices, self._values = [0] * (size + 1), list[int](), list[float]()
        if similarity is not None:
            self._indptr = similarity.indptr.tolist()
            self._indices = similarity.indices.tolist()
            self._values = similarity.values.tolist()
        self._rows: list[list[tuple[int, float]] | None] = [None] * size

    def __getitem__(self, item: int) -> list[tuple[int, float]]:
        row = self._rows[item]
        if row is None:
            here = slice(self._indptr[item], self._indptr[item + 1])
            row = list(zip(self._indices[here], self._values[here], strict=True))
            self._rows[item] = row
        return row


class CoverageObjective:
    """The default objective. Monotone and submodular for every similarity in [0, 1].

    Args:
        relevance: shape (n,), at least 0.
        elements: m elements over n items.
        similarity: n rows or None; without it the objective is the plain sum of r times fidelity.
        beta: weight of coverage, in [0, 1].

    Raises:
        ValueError: ``beta`` is out of range.

    Note:
        ``gain`` and ``add`` cost one sparse row; ``gains`` one pass over all rows per tier.
    """

    is_submodular = True

    def __init__(
        self,
        relevance: NDArray[np.float64],
        elements: TierElements,
        similarity: SparseSimilarity | None,
        *,
        beta: float,
    ) -> None:
        _check_beta(beta)
        self._beta = float(beta)
        self._own = 1.0 - self._beta
        self._relevance = relevance
        self._elements = elements
        self._similarity = similarity
        self._worth: list[float] = relevance.tolist()
        self._item: list[int] = elements.item.tolist()
        self._fidelity: list[float] = elements.fidelity.tolist()
        self._rows = _SimilarityRows(similarity, relevance.size)
        if similarity is not None:
            self._shares = np.unique(elements.fidelity).tolist()
            self._other_worth = relevance[similarity.indices]
            self._row = np.repeat(np.arange(relevance.size), np.diff(similarity.indptr))
        self.init()

    def init(self) -> None:
        """Start from the empty set."""
        self._level = [0.0] * len(self._worth)
        self._cover = [0.0] * len(self._worth)

    def gain(self, element: int) -> float:
        """Marginal worth: O(row)."""
        item, fidelity = self._item[element], self._fidelity[element]
        worth, cover = self._worth, self._cover
        spill = 0.0
        for other, likeness in self._rows[item]:
            more = fidelity * likeness - cover[other]
            if more > 0.0:
                spill += worth[other] * more
        more = fidelity - cover[item]
        if more > 0.0:
            spill += worth[item] * more
        step = fidelity - self._level[item]
        own = worth[item] * step if step > 0.0 else 0.0
        return self._own * own + self._beta * spill

    def gains(self) -> NDArray[np.float64]:
        """Marginal worth of all elements, in the same order of sums as :meth:`gain`."""
        elements, worth = self._elements, self._relevance
        cover = np.asarray(self._cover, dtype=np.float64)
        level = np.asarray(self._level, dtype=np.float64)
        item, fidelity = elements.item, elements.fidelity
        spill = np.zeros(item.size, dtype=np.float64)
        if self._similarity is not None and self._similarity.values.size:
            likeness, covered = self._similarity.values, cover[self._similarity.indices]
            for share in self._shares:
                more = self._other_worth * np.maximum(share * likeness - covered, 0.0)
                total = np.bincount(self._row, weights=more, minlength=worth.size)
                spill = np.where(fidelity == share, total[item], spill)
        spill = spill + worth[item] * np.maximum(fidelity - cover[item], 0.0)
        own = worth[item] * np.maximum(fidelity - level[item], 0.0)
        result: NDArray[np.float64] = self._own * own + self._beta * spill
        return result

    def add(self, element: int) -> float:
        """Put the element in, and return what it brought."""
        item, fidelity = self._item[element], self._fidelity[element]
        worth, cover = self._worth, self._cover
        spill = 0.0
        for other, likeness in self._rows[item]:  # the sums of ``gain``, and what follows from them
            reach = fidelity * likeness
            more = reach - cover[other]
            if more > 0.0:
                spill += worth[other] * more
                cover[other] = reach
        more = fidelity - cover[item]
        if more > 0.0:
            spill += worth[item] * more
            cover[item] = fidelity
        step = fidelity - self._level[item]
        own = 0.0
        if step > 0.0:
            own = worth[item] * step
            self._level[item] = fidelity
        return self._own * own + self._beta * spill

    def value(self) -> float:
        """F of the set, from its definition; the same for every order of adding."""
        own = math.fsum(map(mul, self._worth, self._level))
        covered = math.fsum(map(mul, self._worth, self._cover))
        return self._own * own + self._beta * covered


class MigObjective:
    """The seed's rule g(i|S) = r_i (1 - beta max_{j in S} s_ij). Its value depends on the order.

    Args:
        relevance: shape (n,), at least 0.
        elements: m elements over n items.
        similarity: n rows, taken as symmetric, or None.
        beta: weight of redundancy, in [0, 1].

    Raises:
        ValueError: ``beta`` is out of range.
    """

    is_submodular = False

    def __init__(
        self,
        relevance: NDArray[np.float64],
        elements: TierElements,
        similarity: SparseSimilarity | None,
        *,
        beta: float,
    ) -> None:
        _check_beta(beta)
        self._beta = float(beta)
        self._relevance = relevance
        self._elements = elements
        self._worth: list[float] = relevance.tolist()
        self._item: list[int] = elements.item.tolist()
        self._fidelity: list[float] = elements.fidelity.tolist()
        self._rows = _SimilarityRows(similarity, relevance.size)
        self.init()

    def init(self) -> None:
        """Start from the empty sequence."""
        self._level = [0.0] * len(self._worth)
        self._nearest = [0.0] * len(self._worth)
        self._value = 0.0

    def gain(self, element: int) -> float:
        """Relevance, scaled down by the likeness to what is there: O(1)."""
        item = self._item[element]
        step = self._fidelity[element] - self._level[item]
        if step <= 0.0:
            return 0.0
        return (self._worth[item] * step) * (1.0 - self._beta * self._nearest[item])

    def gains(self) -> NDArray[np.float64]:
        """The gain of every element now, shape (m,)."""
        item, fidelity = self._elements.item, self._elements.fidelity
        level = np.asarray(self._level, dtype=np.float64)
        nearest = np.asarray(self._nearest, dtype=np.float64)
        step = np.maximum(fidelity - level[item], 0.0)
        result: NDArray[np.float64] = (self._relevance[item] * step) * (
            1.0 - self._beta * nearest[item]
        )
        return result

    def add(self, element: int) -> float:
        """Put the element in, and return what it brought."""
        gain = self.gain(element)
        item, fidelity = self._item[element], self._fidelity[element]
        nearest = self._nearest
        for other, likeness in self._rows[item]:
            nearest[other] = max(nearest[other], fidelity * likeness)
        self._level[item] = max(self._level[item], fidelity)
        self._value += gain
        return gain

    def value(self) -> float:
        """The sum of the gains in the order in which elements came."""
        return self._value


def _check_beta(beta: float) -> None:
    if not 0.0 <= beta <= 1.0:
        raise ValueError(f"beta is {beta!r}; allowed: 0 to 1")
