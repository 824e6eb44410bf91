"""The same greedy where items are unlike and have one form: then one sort is enough.

Source: with no similarity F is the sum of relevance, so gains never change and a list is enough.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from eunoe.stages.selection.certificate import fractional_fill, knapsack_bound
from eunoe.stages.selection.greedy import GreedyOutcome, GreedyPick, greedy_powers
from eunoe.stages.selection.ordering import ascending_order
from eunoe.stages.selection.tiers import TierElements

_MODULAR_MARGIN = 1e-12


def run_modular(
    relevance: NDArray[np.float64],
    elements: TierElements,
    allowed: NDArray[np.bool_],
    budget: int,
    exponent: float,
    *,
    base: float = 0.0,
    maximise: bool = True,
    take_zero: bool = False,
) -> GreedyOutcome:
    """Greedy, Greedy+Max and the bound for a plain sum of relevance.

    Args:
        relevance: shape (n,), at least 0.
        elements: n elements, one per item.
        allowed: shape (n,), the items that may be picked.
        budget: tokens to spend.
        exponent: 0 ignores cost, 1 is relevance per token.
        base: worth of what is in anyway.
        maximise: whether Greedy+Max may replace the greedy run by a better one.
        take_zero: whether items worth nothing fill the room that is left.

    Returns:
        The run, the same as that of the lazy heap up to the rounding of sums.

    Note:
        O(n log n); about half a millisecond for 2,000 items.
    """
    cost = elements.cost
    usable = allowed & (cost <= budget) & ((relevance >= 0.0) if take_zero else (relevance > 0.0))
    place = np.flatnonzero(usable)
    worth = relevance[place]
    order = place[np.lexsort((-place, -worth, -(worth / greedy_powers(cost[place], exponent))))]
    bound = base + knapsack_bound(relevance, elements, budget, allowed)
    picks = _picks_in_order(order, relevance[order], cost[order], budget)
    value = sum((pick.gain for pick in picks), base)
    if maximise and picks:
        other = _best_exchange(picks, order, relevance, cost, budget)
        total = sum((pick.gain for pick in other), base)
        if total > value * (1.0 + _MODULAR_MARGIN):
            return GreedyOutcome(tuple(other), total, bound)
    return GreedyOutcome(tuple(picks), value, bound)


class WorthRun(NamedTuple):
    """What ``take_by_worth`` takes, in the order of picking.

    Attributes:
        elements: what was picked; ``gains`` and ``prices`` are theirs.
        value: the sum of the gains.
        upper_bound: what no choice exceeds.
    """

    elements: list[int]
    gains: list[float]
    prices: list[int]
    value: float
    upper_bound: float


def take_by_worth(relevance: NDArray[np.float64], cost: NDArray[np.int64], budget: int) -> WorthRun:
    """``run_modular`` at exponent 0, where everything may be picked.

    Greedy+Max changes nothing there: the best item to add to a prefix is the next of the run.

    Args:
        relevance: shape (n,), at least 0.
        cost: shape (n,), tokens, at least 1.
        budget: tokens to spend.
    """
    place = ((cost <= budget) & (relevance > 0.0)).nonzero()[0]
    worth, prices = relevance.take(place), cost.take(place)
    order = ascending_order(worth)[::-1]  # of equals the newest first
    taken = order.take(_first_fit(prices.take(order), budget))
    gains: list[float] = worth.take(taken).tolist()
    bound = fractional_fill(worth, prices.astype(np.float64), budget) if place.size else 0.0
    return WorthRun(
        place.take(taken).tolist(), gains, prices.take(taken).tolist(), sum(gains, 0.0), bound
    )


def _first_fit(prices: NDArray[np.int64], budget: int) -> list[int]:
    """Places of what is taken, if all that fits is taken in the order of the prices."""
    together = int(prices.cumsum().searchsorted(budget, side="right"))  # the first all fit
    taken = list(range(together))
    left = budget - int(prices[:together].sum())
    small = (prices[together:] <= left).nonzero()[0] + together
    for place, price in zip(small.tolist(), prices.take(small).tolist(), strict=True):
        if price <= left:
            taken.append(place)
            left -= price
    return taken


def _picks_in_order(
    order: NDArray[np.intp],
    worth: NDArray[np.float64],
    prices: NDArray[np.int64],
    budget: int,
) -> list[GreedyPick]:
    """Take what fits in the given order.

    Args:
        order: elements, shape (n,); ``worth`` and ``prices`` are theirs.
    """
    taken = _first_fit(prices, budget)
    picked = (order.take(taken).tolist(), worth.take(taken).tolist(), prices.take(taken).tolist())
    return list(map(GreedyPick, *picked))


def _best_exchange(
    picks: list[GreedyPick],
    order: NDArray[np.intp],
    relevance: NDArray[np.float64],
    cost: NDArray[np.int64],
    budget: int,
) -> list[GreedyPick]:
    """The best greedy prefix with the best single item added, then filled again."""
    worth = relevance[order]
    prices = cost[order]
    when = np.full(relevance.size, len(picks), dtype=np.intp)
    when[[pick.element for pick in picks]] = np.arange(len(picks))
    when = when[order]  # at which step an item came in: before it, it is a single item to try
    largest = float(worth.max())
    best, prefix, single = sum(pick.gain for pick in picks), len(picks), -1
    value, left = 0.0, budget
    for step in range(len(picks)):
        if value + largest > best:
            gains = np.where((prices <= left) & (when >= step), worth, -1.0)
            top = int(np.argmax(gains))
            if value + float(gains[top]) > best:
                best, prefix, single = value + float(gains[top]), step, int(order[top])
        value += picks[step].gain
        left -= picks[step].price
    if single < 0:
        return picks
    kept = [*picks[:prefix], GreedyPick(single, float(relevance[single]), int(cost[single]))]
    taken = np.zeros(relevance.size, dtype=bool)
    taken[[pick.element for pick in kept]] = True
    rest = order[~taken[order]]
    left = budget - sum(pick.price for pick in kept)
    return kept + _picks_in_order(rest, relevance[rest], cost[rest], left)
