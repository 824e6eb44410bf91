"""The forms in which an item may be shown, and what each costs.

Source: lossy levels of detail as elements of one knapsack, one kept per item (multiple-choice).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray


class Tier(IntEnum):
    """How much of an item is shown; a larger number shows more."""

    STUB = 0
    GIST = 1
    SUMMARY = 2
    VERBATIM = 3


_TIER_OF = tuple(Tier)
MOST_COST = 2**40
"""Tokens of one form at most: sums of millions of them are still whole numbers of 64 bits."""

TIER_FIDELITY: dict[Tier, float] = {
    Tier.VERBATIM: 1.0,
    Tier.SUMMARY: 0.6,
    Tier.GIST: 0.35,
    Tier.STUB: 0.2,
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TierElements:
    """What can be picked: pairs of an item and a tier, sorted by item, then by cost.

    Attributes:
        item: shape (m,), position of the item, 0 to n - 1, every item at least once.
        tier: shape (m,), values of :class:`Tier`.
        fidelity: shape (m,), share of the item's worth that this form keeps, in [0, 1].
        cost: shape (m,), tokens, at least 1; strictly growing with fidelity inside an item.
        start: shape (n + 1,), the elements of item i are ``start[i]`` to ``start[i + 1] - 1``.
    """

    item: NDArray[np.intp]
    tier: NDArray[np.intp]
    fidelity: NDArray[np.float64]
    cost: NDArray[np.int64]
    start: NDArray[np.intp]

    @property
    def is_plain(self) -> bool:
        """Whether every item has one form only."""
        return self.item.size == self.start.size - 1


def clean_costs(cost: ArrayLike, size: int | None = None) -> NDArray[np.int64]:
    """Token counts as whole numbers of at least 1.

    Args:
        cost: shape (n,), tokens; fractions are rounded up, zero and negative counts become 1.
        size: n, where it is known.

    Returns:
        Shape (n,), tokens, at least 1.

    Raises:
        ValueError: wrong shape, or a count is not finite or above ``MOST_COST``.
    """
    values = np.asarray(cost)
    if values.ndim != 1 or (size is not None and values.size != size):
        raise ValueError(
            f"cost has shape {values.shape}, allowed: ({'n' if size is None else size},)"
        )
    if values.size and values.dtype.kind not in "iub":
        values = np.asarray(values, dtype=np.float64)
        if not np.isfinite(values).all():
            raise ValueError("cost holds a value that is not finite")
        values = np.ceil(values)
    if values.size and values.max() > MOST_COST:
        raise ValueError(f"cost holds {values.max():g}, allowed: at most {MOST_COST:g}")
    return np.maximum(values.astype(np.int64), 1)


def plain_elements(cost: NDArray[np.int64]) -> TierElements:
    """One verbatim element per item.

    Args:
        cost: shape (n,), tokens, at least 1.

    Returns:
        n elements.
    """
    size = cost.size
    return TierElements(
        item=np.arange(size, dtype=np.intp),
        tier=np.full(size, int(Tier.VERBATIM), dtype=np.intp),
        fidelity=np.ones(size, dtype=np.float64),
        cost=cost,
        start=np.arange(size + 1, dtype=np.intp),
    )


def tier_elements(
    verbatim: ArrayLike,
    *,
    summary: ArrayLike | None = None,
    gist: ArrayLike | None = None,
    stub: ArrayLike | None = None,
    fidelity: dict[Tier, float] = TIER_FIDELITY,
) -> TierElements:
    """Elements for items that can be shown in several forms.

    A shorter form that costs as much as a fuller one is left out, since it can never be better.

    Args:
        verbatim: shape (n,), tokens of the whole item; values below 1 count as 1.
        summary: shape (n,), tokens of a summary; 0 or less where an item has none.
        gist: shape (n,), tokens of the first sentence; 0 or less where an item has none.
        stub: shape (n,), tokens of a place holder; 0 or less where an item has none.
        fidelity: share of the worth per tier, in [0, 1], growing with the tier.

    Returns:
        Between n and 4 n elements.

    Raises:
        ValueError: wrong shapes, or fidelities that do not grow with the tier.
    """
    whole = clean_costs(verbatim)
    ranked = [float(fidelity[tier]) for tier in sorted(Tier)]
    if ranked[0] < 0.0 or ranked[-1] > 1.0 or any(a >= b for a, b in pairwise(ranked)):
        raise ValueError(f"fidelity is {fidelity!r}; allowed: growing with the tier, in [0, 1]")
    table = np.zeros((whole.size, len(Tier)), dtype=np.int64)
    table[:, Tier.VERBATIM] = whole
    for tier, given in ((Tier.SUMMARY, summary), (Tier.GIST, gist), (Tier.STUB, stub)):
        if given is None:
            continue
        column = np.asarray(given)
        if column.shape != whole.shape:
            raise ValueError(
                f"{tier.name.lower()} has shape {column.shape}, allowed: {whole.shape}"
            )
        table[:, tier] = np.where(column > 0, clean_costs(np.where(column > 0, column, 1)), 0)
    # Cheapest fuller form seen from the top down: a form must be strictly cheaper than it.
    fuller = whole.copy()
    present = np.zeros(table.shape, dtype=bool)
    present[:, Tier.VERBATIM] = True
    for tier in (Tier.SUMMARY, Tier.GIST, Tier.STUB):
        useful = (table[:, tier] > 0) & (table[:, tier] < fuller)
        present[:, tier] = useful
        fuller = np.where(useful, table[:, tier], fuller)
    item, level = np.nonzero(present)
    start = np.zeros(whole.size + 1, dtype=np.intp)
    np.cumsum(present.sum(axis=1), out=start[1:])
    return TierElements(
        item=item.astype(np.intp),
        tier=level.astype(np.intp),
        fidelity=np.asarray(ranked, dtype=np.float64)[level],
        cost=table[item, level],
        start=start,
    )


def best_tiers(elements: TierElements, picked: list[int]) -> dict[int, int]:
    """The fullest picked element of every picked item.

    Args:
        elements: all elements.
        picked: positions of elements, in any order, an item possibly more than once.

    Returns:
        Item to element, items ascending.
    """
    order = sorted(picked)  # by item, then by cost, hence by fidelity
    return dict(zip(elements.item[order].tolist(), order, strict=True)) if order else {}


def tiers_of(elements: TierElements, picked: Sequence[int]) -> tuple[Tier, ...]:
    """The tier of each picked element."""
    return tuple(_TIER_OF[tier] for tier in elements.tier[picked].tolist()) if picked else ()
