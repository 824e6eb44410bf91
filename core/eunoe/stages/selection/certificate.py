"""How good a choice is, proven: at least x % of the best possible one under the same objective.

Source: for monotone submodular F and any S, OPT <= F(S) + max{sum_{j in T} gain(j|S): cost(T) <= B}
(Nemhauser, Wolsey, Fisher 1978), the maximum relaxed to a fractional multiple-choice knapsack.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from eunoe.domain.certificate import Certificate
from eunoe.stages.selection.ordering import ascending_order
from eunoe.stages.selection.tiers import TierElements

CERTIFICATE_CHECKPOINTS = 6


def certify(value: float, upper_bound: float) -> Certificate:
    """A certificate that rounding cannot push out of its range.

    Args:
        value: F of what was chosen, forced items included; at least 0.
        upper_bound: no choice within the budget is worth more.
    """
    return Certificate(value=value, upper_bound=max(value, upper_bound))


def knapsack_bound(
    gains: NDArray[np.float64],
    elements: TierElements,
    budget: int,
    allowed: NDArray[np.bool_],
) -> float:
    """The most that elements worth ``gains`` could add within a budget, one per item at most.

    Args:
        gains: shape (m,), at least 0.
        elements: m elements over n items.
        budget: tokens left; below 1 nothing fits.
        allowed: shape (n,), the items that may be taken.

    Returns:
        The value of the linear relaxation, at least that of every feasible choice.

    Note:
        O(m log m). The relaxation takes, per item, the steps of the upper concave hull of
        (cost, gain), then fills the budget by gain per token.
    """
    usable = allowed[elements.item] & (elements.cost <= budget) & (gains > 0.0)
    if not usable.any():
        return 0.0
    if elements.is_plain:
        step_gain, step_cost = gains[usable], elements.cost[usable].astype(np.float64)
    else:
        step_gain, step_cost = _hull_steps(gains, elements, usable)
    return fractional_fill(step_gain, step_cost, budget)


def fractional_fill(gains: NDArray[np.float64], costs: NDArray[np.float64], budget: int) -> float:
    """The most that items could add within a budget if the last one may be taken in part.

    Args:
        gains: shape (k,), above 0.
        costs: shape (k,), tokens, at least 1.
        budget: tokens.
    """
    order = ascending_order(-(gains / costs))
    gains, costs = gains.take(order), costs.take(order)
    filled = costs.cumsum()
    whole = int(filled.searchsorted(budget, side="right"))
    total = float(gains[:whole].sum())
    if whole < order.size:
        room = budget - (float(filled[whole - 1]) if whole else 0.0)
        total += float(gains[whole] / costs[whole]) * room
    return total


def critical_density(gains: NDArray[np.float64], costs: NDArray[np.int64], budget: int) -> float:
    """Gain per token of the item at which ``fractional_fill`` ends; 0 where all items fit.

    Args:
        gains: shape (k,), at least 0.
        costs: shape (k,), tokens; below 1 counts as 1.
        budget: tokens.
    """
    costs = np.maximum(costs, 1)
    usable = (costs <= budget) & (gains > 0.0)
    density, prices = (gains / costs)[usable], costs[usable]
    order = ascending_order(-density)
    whole = int(prices.take(order).cumsum().searchsorted(budget, side="right"))
    return float(density[order[whole]]) if whole < order.size else 0.0


def with_left_out(
    certificate: Certificate,
    gains: NDArray[np.float64],
    costs: NDArray[np.int64],
    budget: int,
    *,
    density: float = 0.0,
) -> Certificate:
    """The certificate of a choice for which some items were not even looked at.

    Source: duality of linear programs. For any price p of a token, no choice is worth more than
    ``p B + sum_j max(0, gain_j - p cost_j)``, and at the critical density of the others this is
    their bound, but for what the items left out add to it.

    Args:
        certificate: of the choice among the others.
        gains: shape (k,), the most that each item left out could add, at least 0.
        costs: shape (k,), their tokens; below 1 counts as 1.
        budget: tokens of everything.
        density: ``critical_density`` of the others, where their worth is a plain sum; 0 if unknown.
    """
    costs = np.maximum(costs, 1)
    usable = (costs <= budget) & (gains > 0.0)
    if not usable.any():
        return certificate
    worth, prices = gains[usable], costs[usable].astype(np.float64)
    more = fractional_fill(worth, prices, budget)
    if density:
        more = min(more, float(np.maximum(0.0, worth - density * prices).sum()))
    return certify(certificate.value, certificate.upper_bound + more)


def _hull_steps(
    gains: NDArray[np.float64], elements: TierElements, usable: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Steps (gain, cost) of the upper concave hull per item, from (0, 0), steepest first."""
    size = elements.start.size - 1
    width = int(np.diff(elements.start).max())
    column = np.arange(elements.item.size) - elements.start[elements.item]
    worth = np.zeros((size, width), dtype=np.float64)
    price = np.ones((size, width), dtype=np.float64)
    worth[elements.item, column] = np.where(usable, gains, -np.inf)
    price[elements.item, column] = elements.cost
    worth[worth == 0.0] = -np.inf  # padding
    at_worth, at_price = np.zeros(size), np.zeros(size)
    rows = np.arange(size)
    step_gains: list[NDArray[np.float64]] = []
    step_costs: list[NDArray[np.float64]] = []
    for _ in range(width):
        ahead = (price > at_price[:, None]) & (worth > at_worth[:, None])
        run = np.where(ahead, price - at_price[:, None], 1.0)
        rise = np.where(ahead, worth - at_worth[:, None], -np.inf)
        best = np.argmax(rise / run, axis=1)
        live = ahead[rows, best]
        if not live.any():
            break
        step_gains.append(rise[rows, best][live])
        step_costs.append(run[rows, best][live])
        at_worth = np.where(live, worth[rows, best], at_worth)
        at_price = np.where(live, price[rows, best], at_price)
    return np.concatenate(step_gains), np.concatenate(step_costs)


def checkpoint_places(picks: int, limit: int = CERTIFICATE_CHECKPOINTS) -> tuple[int, ...]:
    """At which prefixes of a run the bound is measured: evenly spread, first and last included.

    Args:
        picks: length of the run.
        limit: how many places at most; at least 1.

    Returns:
        Ascending prefix lengths in [0, picks].
    """
    if limit < 2:
        return (0,)
    return tuple(sorted({(picks * place) // (limit - 1) for place in range(limit)}))
