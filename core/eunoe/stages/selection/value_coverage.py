"""Worth as the values that a set of items covers, beside what each item is worth by itself.

``F(S) = sum_{i in S} r_i + sum_x w_x [x is held by an item of S]``: weighted coverage plus a plain
sum, so monotone and submodular. Source: weighted maximum coverage (Khuller, Moss, Naor 1999).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


class ValueObjective:
    """An ``Objective`` over n items, each in one form.

    Args:
        relevance: shape (n,), what an item is worth by itself, at least 0.
        held: for each item the numbers of the values it holds.
        weight: weight of each value by its number, at least 0.

    Note:
        ``gain`` and ``add`` cost the values of one item; ``gains`` those of all.
    """

    def __init__(
        self,
        relevance: NDArray[np.float64],
        held: Sequence[Sequence[int]],
        weight: NDArray[np.float64],
    ) -> None:
        self.is_submodular = True
        self._relevance: list[float] = relevance.tolist()
        self._held = held
        self._weight: list[float] = weight.tolist()
        self.init()

    def init(self) -> None:
        """Start from the empty set."""
        self._covered: set[int] = set()
        self._in: set[int] = set()
        self._worth = 0.0

    def gain(self, element: int) -> float:
        """Marginal worth: O(values of the item)."""
        if element in self._in:
            return 0.0
        covered, weight = self._covered, self._weight
        return self._relevance[element] + sum(
            weight[x] for x in self._held[element] if x not in covered
        )

    def gains(self) -> NDArray[np.float64]:
        """The marginal worth of every item, shape (n,)."""
        return np.array([self.gain(k) for k in range(len(self._held))], dtype=np.float64)

    def add(self, element: int) -> float:
        """Put an item in, and return what it brought."""
        gain = self.gain(element)
        self._in.add(element)
        self._covered.update(self._held[element])
        self._worth += gain
        return gain

    def value(self) -> float:
        """The worth of the set."""
        return self._worth
