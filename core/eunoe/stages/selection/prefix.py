"""Choose so that the provider's prompt cache is hit: keep what was sent as a prefix, where it pays.

Source: a view is cached as far as it starts with a list that was sent before, byte for byte. Of
the still valid part of such a list a share is locked; the share is chosen by what it loses in worth
against what it saves in tokens that are read anew.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field, replace

import numpy as np

from eunoe.stages.selection.candidates import SelectionCandidates
from eunoe.stages.selection.certificate import certify
from eunoe.stages.selection.selecting import Selection
from eunoe.stages.selection.strategies import GreedyByWeightAlgorithm, SelectionAlgorithm
from eunoe.stages.selection.tiers import Tier

PREFIX_PRICE = 0.1
PREFIX_SEQUENCES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefixCacheOptimizedAlgorithm:
    """Lock 0, the head, 1/4, 1/2, 3/4 or all of the valid prefix; take the best trade.

    Needs ``ids`` and ``sent`` of the candidates; ids must follow from content. Items older than the
    last locked one that were not sent are left out, since they would break the prefix; a forced
    one among them ends it.

    Attributes:
        inner: chooses the rest.
        price: share of the best worth that reading a budget of tokens anew costs; at least 0.
        head: how many of the oldest items are the head (system messages).

    Raises:
        ValueError: the price is below 0 or not finite.
    """

    inner: SelectionAlgorithm = field(default_factory=GreedyByWeightAlgorithm)
    price: float = PREFIX_PRICE
    head: int = 0

    def __post_init__(self) -> None:
        if not 0.0 <= self.price < float("inf"):
            raise ValueError(f"price is {self.price!r}; allowed: finite, at least 0")

    @property
    def name(self) -> str:
        """The name of the inner algorithm, marked."""
        return f"prefix_cache({self.inner.name})"

    def select(self, candidates: SelectionCandidates) -> Selection:
        """The choice of best F / F without lock - price * uncached tokens / budget."""
        free = self.inner.select(candidates)
        prefix = valid_prefix(candidates)
        if not prefix or free.overage or candidates.budget < 1:
            return free
        best, best_score = free, self._score(candidates, free, free)
        for length in lock_lengths(prefix, self.head):
            locked = self.inner.select(lock_prefix(candidates, prefix[:length]))
            if locked.overage:
                break  # a longer lock costs more still
            score = self._score(candidates, locked, free)
            if score >= best_score:
                best, best_score = locked, score
        bound = free.certificate.upper_bound  # a locked problem's own would leave out the others
        return replace(best, certificate=certify(best.certificate.value, bound))

    def _score(self, candidates: SelectionCandidates, choice: Selection, free: Selection) -> float:
        """Worth relative to the free choice, less the price of what is read anew."""
        best = free.certificate.value
        worth = choice.certificate.value / best if best > 0.0 else 1.0
        uncached = choice.cost - cached_tokens(candidates, choice)
        return worth - self.price * uncached / candidates.budget


def lock_lengths(prefix: tuple[int, ...], head: int) -> tuple[int, ...]:
    """How much of the prefix to try to lock, ascending, at least 1."""
    system = sum(1 for item in prefix if item < head)
    tries = {system, *((len(prefix) * part) // 4 for part in (1, 2, 3, 4))}
    return tuple(sorted(length for length in tries if length > 0))


def lock_prefix(candidates: SelectionCandidates, lock: tuple[int, ...]) -> SelectionCandidates:
    """Candidates whose choice must start with exactly these items, word for word.

    Args:
        candidates: n items.
        lock: items, ascending, at least one; no other item up to the last of them may be forced.

    Returns:
        Candidates with the lock forced and what lies between barred.
    """
    held = np.zeros(candidates.size, dtype=bool)
    held[list(lock)] = True
    between = ~held & (np.arange(candidates.size) < lock[-1])
    return replace(
        candidates,
        forced=candidates.forced | held,
        protected=candidates.protected | held,
        barred=(candidates.barred | between) & ~held,
    )


def valid_prefix(candidates: SelectionCandidates) -> tuple[int, ...]:
    """The longest start, in tokens, of a sent sequence that could be sent again.

    Args:
        candidates: with ``ids`` and ``sent``; the newest five sequences count.

    Returns:
        Items, ascending; empty when nothing was sent or nothing is valid. It ends before an item
        that is gone, barred or out of order, and where a forced item that was not sent cuts it.
    """
    if not candidates.ids:
        return ()
    places: dict[str, list[int]] = {}
    for item, key in enumerate(candidates.ids):
        places.setdefault(key, []).append(item)
    cost, best_tokens = candidates.full_cost, 0
    best: tuple[int, ...] = ()
    for sequence in candidates.sent[:PREFIX_SEQUENCES]:
        found = _follow_sequence(candidates, places, sequence)
        tokens = int(cost[list(found)].sum()) if found else 0
        if tokens > best_tokens:
            best, best_tokens = found, tokens
    return best


def _follow_sequence(
    candidates: SelectionCandidates, places: dict[str, list[int]], sequence: tuple[str, ...]
) -> tuple[int, ...]:
    """The items of one sequence, as far as they can be sent in that order."""
    found: list[int] = []
    last = -1
    for key in sequence:
        here = places.get(key, [])
        next_place = bisect_right(here, last)
        if next_place == len(here):
            break
        item = here[next_place]
        if candidates.barred[item] or candidates.forced[last + 1 : item].any():
            break
        found.append(item)
        last = item
    return tuple(found)


def cached_tokens(candidates: SelectionCandidates, choice: Selection) -> int:
    """Tokens at the start of the choice that some sent sequence starts with.

    Args:
        candidates: with ``ids`` and ``sent``.
        choice: what would be sent.

    Returns:
        Tokens of the longest common start, short forms not counted.
    """
    cost, most = candidates.full_cost, 0
    for sequence in candidates.sent[:PREFIX_SEQUENCES]:
        tokens = 0
        for item, tier, key in zip(choice.chosen, choice.tiers, sequence, strict=False):
            if tier != Tier.VERBATIM or candidates.ids[item] != key:
                break
            tokens += int(cost[item])
        most = max(most, tokens)
    return most
