"""Greedy under a budget: lazy, by gain over cost to a power, then Greedy+Max.

Source: lazy evaluation (Minoux 1978); cost exponent (Lin and Bilmes 2010); best single element
added to every greedy prefix (Yaroslavtsev, Zhou, Avdiukhin 2020). Plain density greedy alone has no
constant factor: one light crumb can keep out the one item worth having.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from eunoe.stages.selection.certificate import checkpoint_places, knapsack_bound
from eunoe.stages.selection.coverage import Objective
from eunoe.stages.selection.tiers import TierElements

_GREEDY_MARGIN = 1e-12


class GreedyPick(NamedTuple):
    """One step of a run.

    Attributes:
        element: what was picked.
        gain: what it brought.
        price: tokens it took, the refund of a lower tier of the same item deducted; at least 1.
    """

    element: int
    gain: float
    price: int


class GreedyWalk:
    """An objective with a purse: what is in, what is paid, what is left.

    Args:
        objective: the worth of sets.
        elements: m elements over n items.
        relevance: shape (n,), used to break ties.
        allowed: shape (n,), the items that may be picked.
        budget: tokens to spend beyond what ``given`` costs.
        given: elements that are in from the start, at no charge.
    """

    def __init__(
        self,
        objective: Objective,
        elements: TierElements,
        relevance: NDArray[np.float64],
        allowed: NDArray[np.bool_],
        budget: int,
        given: tuple[int, ...] = (),
    ) -> None:
        self.objective = objective
        self.elements = elements
        self.allowed = allowed
        self.budget = budget
        self._given = given
        self.item: list[int] = elements.item.tolist()
        self.cost: list[int] = elements.cost.tolist()
        self._start: list[int] = elements.start.tolist()
        # Ties: more relevant, then newer, then fuller. A rank is a place in that order.
        by_rank = np.lexsort((-elements.fidelity, -elements.item, -relevance[elements.item]))
        self.ranks = np.empty(by_rank.size, dtype=np.intp)
        self.ranks[by_rank] = np.arange(by_rank.size)
        self.by_rank: list[int] = by_rank.tolist()
        self.rank: list[int] = self.ranks.tolist()
        self.begin()

    def begin(self) -> None:
        """Start again from what is given."""
        self.objective.init()
        for element in self._given:
            self.objective.add(element)
        self.left = self.budget
        self._paid: dict[int, int] = {}

    def price(self, element: int) -> int:
        """Tokens that adding the element takes now; 0 or less when a fuller form is in."""
        return self.cost[element] - self._paid.get(self.item[element], 0)

    def take(self, element: int) -> GreedyPick:
        """Add an element and pay for it."""
        price = self.price(element)
        gain = self.objective.add(element)
        self.left -= price
        self._paid[self.item[element]] = self.cost[element]
        return GreedyPick(element, gain, price)

    def prices(self) -> NDArray[np.int64]:
        """Shape (m,), what every element takes now."""
        prices = self.elements.cost.copy()
        for item, paid in self._paid.items():
            prices[self._start[item] : self._start[item + 1]] -= paid
        return prices

    def fuller(self, element: int) -> range:
        """The fuller forms of the element's item."""
        return range(element + 1, self._start[self.item[element] + 1])


def fill_greedily(walk: GreedyWalk, exponent: float) -> list[GreedyPick]:
    """Pick the best gain / price ** exponent again and again until nothing fits.

    A misfit is skipped and smaller ones are tried. A fuller form of a picked item costs the
    difference only: what the lower form cost is refunded at once.

    Args:
        walk: where to go on from; it is changed.
        exponent: 0 ignores cost, 1 is gain per token, 0.5 lies between.

    Returns:
        The picks, in order.

    Note:
        Stale keys are upper bounds because gains only fall, so the picks equal those of
        evaluating everything every time.
    """
    line, heap = _greedy_line(walk, exponent), list[tuple[float, int]]()
    passed, by_rank = 0, walk.by_rank
    current: dict[int, float] = {}  # the one valid key of an element that was valued again
    fresh: dict[int, int] = {}  # how many picks there were then
    picks: list[GreedyPick] = []
    while heap or passed < len(line):
        if heap and (passed == len(line) or heap[0] < line[passed]):
            key, place = heapq.heappop(heap)
        else:
            key, place = line[passed]
            passed += 1
        element = by_rank[place]
        price = walk.price(element)
        if not 1 <= price <= walk.left or current.get(element, key) != key:
            continue
        if fresh.get(element, 0) != len(picks):
            fresh[element] = len(picks)
            current[element] = -walk.objective.gain(element) / greedy_power(price, exponent)
            if current[element] != key:
                heapq.heappush(heap, (current[element], place))
                continue
        if key >= 0.0:
            break
        picks.append(walk.take(element))
        for other in walk.fuller(element):
            fresh[other] = len(picks)
            power = greedy_power(walk.price(other), exponent)
            current[other] = -walk.objective.gain(other) / power
            heapq.heappush(heap, (current[other], walk.rank[other]))
    return picks


def greedy_power(price: int, exponent: float) -> float:
    """Price to the exponent, the same bits wherever it is computed."""
    if exponent == 0.5:
        return sqrt(price)
    if exponent == 1.0:
        return float(price)
    return float(pow(float(price), exponent))


def greedy_powers(prices: NDArray[np.int64], exponent: float) -> NDArray[np.float64]:
    """:func:`greedy_power` of every price, bit for bit."""
    if exponent == 0.5:
        return np.sqrt(prices.astype(np.float64))
    if exponent == 1.0:
        return prices.astype(np.float64)
    if exponent == 0.0:
        return np.ones(len(prices))
    return np.asarray([greedy_power(price, exponent) for price in prices.tolist()])


def _greedy_line(walk: GreedyWalk, exponent: float) -> list[tuple[float, int]]:
    """Entries (-key, rank) of everything that fits and gains, best first."""
    gains, prices = walk.objective.gains(), walk.prices()
    usable = (
        walk.allowed[walk.elements.item] & (prices >= 1) & (prices <= walk.left) & (gains > 0.0)
    )
    place = np.flatnonzero(usable)
    negative = -gains[place] / greedy_powers(prices[place], exponent)
    rank = walk.ranks[place]
    order = np.lexsort((rank, negative))
    return list(zip(negative[order].tolist(), rank[order].tolist(), strict=True))


@dataclass(frozen=True, slots=True)
class GreedyOutcome:
    """A finished run.

    Attributes:
        picks: steps in order.
        value: F, what was given included.
        upper_bound: of F over all choices within the budget.
    """

    picks: tuple[GreedyPick, ...]
    value: float
    upper_bound: float


def run_greedy(
    walk: GreedyWalk, exponent: float, *, maximise: bool = True, checkpoints: int = 6
) -> GreedyOutcome:
    """Greedy, then Greedy+Max on its prefixes, with a bound on what could be reached.

    Args:
        walk: started anew here.
        exponent: see :func:`fill_greedily`.
        maximise: whether Greedy+Max may replace the greedy run by a better one.
        checkpoints: at how many prefixes the bound is measured; at least 1.

    Returns:
        The run, its value and a bound.
    """
    walk.begin()
    picks = fill_greedily(walk, exponent)
    value = walk.objective.value()
    places = checkpoint_places(len(picks), checkpoints if walk.objective.is_submodular else 1)
    bound, prefix, single = _replay_greedy(walk, picks, value, places, maximise=maximise)
    if single < 0:
        return GreedyOutcome(tuple(picks), value, bound)
    walk.begin()
    other = [walk.take(pick.element) for pick in picks[:prefix]]
    other.append(walk.take(single))
    other.extend(fill_greedily(walk, exponent))
    return GreedyOutcome(tuple(other), walk.objective.value(), bound)


def _replay_greedy(
    walk: GreedyWalk,
    picks: list[GreedyPick],
    value: float,
    places: tuple[int, ...],
    *,
    maximise: bool,
) -> tuple[float, int, int]:
    """Walk a run again: the least bound, the best prefix, its best element (-1: none helps)."""
    walk.begin()
    base = walk.objective.value()
    ceiling = np.zeros(0)  # gains seen last: upper bounds for all later prefixes
    bound, best, prefix, single = float("inf"), value * (1.0 + _GREEDY_MARGIN), 0, -1
    for place in range(len(picks) + 1):
        if place in places:
            ceiling = walk.objective.gains()
            more = knapsack_bound(ceiling, walk.elements, walk.budget, walk.allowed)
            bound = min(bound, base + more)
            if walk.elements.is_plain:  # what does not fit now never will
                ceiling[walk.elements.cost > walk.left] = 0.0
        if maximise:
            element, total = _best_single(walk, ceiling, base, best)
            if element >= 0:
                best, prefix, single = total, place, element
        if place < len(picks):
            base += walk.take(picks[place].element).gain
    return bound, prefix, single


def _best_single(
    walk: GreedyWalk, ceiling: NDArray[np.float64], base: float, best: float
) -> tuple[int, float]:
    """The element that lifts ``base`` highest above ``best``, or -1; tightens ``ceiling``."""
    hopeful = np.flatnonzero(ceiling > best - base)
    if not hopeful.size:
        return -1, best
    prices = walk.prices()[hopeful]
    fits = (prices >= 1) & (prices <= walk.left) & walk.allowed[walk.elements.item[hopeful]]
    hopeful = hopeful[fits]
    found = -1
    for element in hopeful[np.lexsort((walk.ranks[hopeful], -ceiling[hopeful]))].tolist():
        if base + float(ceiling[element]) <= best:
            break
        gain = walk.objective.gain(element)
        ceiling[element] = gain
        if base + gain > best:
            found, best = element, base + gain
    return found, best
