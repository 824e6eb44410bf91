"""Ways of choosing, by name, behind one protocol.

Source: the algorithms of lethes (greedy by weight, recency-biased), written anew; among equal
weights the newest item wins.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from eunoe.stages.selection.candidates import SelectionCandidates
from eunoe.stages.selection.certificate import knapsack_bound
from eunoe.stages.selection.greedy import GreedyOutcome, GreedyPick
from eunoe.stages.selection.grouping import group_members, join_groups
from eunoe.stages.selection.selecting import (
    SELECT_BETA,
    SELECT_EXPONENT,
    ObjectiveName,
    Selection,
    SelectPolicy,
    place_forced,
    select_items,
    selection_from,
)
from eunoe.stages.selection.tiers import TierElements

RECENCY_FACTOR = 2.0


class SelectionAlgorithm(Protocol):
    """A way of choosing items under a budget. Holds settings only, no state."""

    @property
    def name(self) -> str:
        """A short name for reports."""
        ...

    def select(self, candidates: SelectionCandidates) -> Selection:
        """A choice within the budget, forced items included; the same for the same input."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class CoverageAlgorithm:
    """The default: submodular coverage with a certificate, see ``select_items``."""

    objective: ObjectiveName = "coverage"
    beta: float = SELECT_BETA
    exponent: float = SELECT_EXPONENT
    policy: SelectPolicy = "preferred"
    name: str = "coverage"

    def select(self, candidates: SelectionCandidates) -> Selection:
        """The most worth within the budget."""
        return select_items(
            candidates,
            objective=self.objective,
            beta=self.beta,
            exponent=self.exponent,
            policy=self.policy,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class GreedyByWeightAlgorithm:
    """Heaviest first, first fit: a misfit is shown in a shorter form if one fits, else skipped.

    Items worth nothing fill what room is left, the newest first. The certificate is about the plain
    sum of relevance.

    Attributes:
        prefer_summarize: whether shorter forms of a misfit are tried.
    """

    prefer_summarize: bool = True
    name: str = "greedy_by_weight"

    def select(self, candidates: SelectionCandidates) -> Selection:
        """Items by relevance descending, the newest first among equals."""
        elements, weights = candidates.elements, candidates.relevance
        given, left = place_forced(candidates)
        allowed = ~(candidates.forced | candidates.barred)
        worth: NDArray[np.float64] = weights[elements.item] * elements.fidelity
        base = sum((float(worth[element]) for element in given), 0.0)
        order = np.lexsort((-np.arange(weights.size), -weights))
        forms = len(elements.item) if self.prefer_summarize else 1
        picks = _first_fit_forms(elements, order[allowed[order]], worth, left, forms)
        return selection_from(
            candidates,
            given,
            left,
            GreedyOutcome(
                tuple(picks),
                sum((pick.gain for pick in picks), base),
                base + knapsack_bound(worth, elements, left, allowed),
            ),
        )


def _first_fit_forms(
    elements: TierElements,
    order: NDArray[np.intp],
    worth: NDArray[np.float64],
    left: int,
    forms: int,
) -> list[GreedyPick]:
    """Go through items in order; take the fullest of the ``forms`` fullest forms that fits."""
    cost: list[int] = elements.cost.tolist()
    start: list[int] = elements.start.tolist()
    least = min(cost, default=0)
    picks: list[GreedyPick] = []
    for item in order.tolist():
        if left < least:
            break
        stop = max(start[item], start[item + 1] - forms)
        for element in range(start[item + 1] - 1, stop - 1, -1):
            if cost[element] <= left:
                picks.append(GreedyPick(element, float(worth[element]), cost[element]))
                left -= cost[element]
                break
    return picks


@dataclass(frozen=True, slots=True, kw_only=True)
class RecencyBiasedAlgorithm:
    """Greedy by weight, where item i of n weighs 1 + factor * i / (n - 1) times more.

    Attributes:
        recency_factor: how much more the newest weighs than the oldest, at least 0.
        prefer_summarize: see :class:`GreedyByWeightAlgorithm`.

    Raises:
        ValueError: the factor is below 0 or not finite.
    """

    recency_factor: float = RECENCY_FACTOR
    prefer_summarize: bool = True
    name: str = "recency_biased"

    def __post_init__(self) -> None:
        if not 0.0 <= self.recency_factor < float("inf"):
            raise ValueError(
                f"recency_factor is {self.recency_factor!r}; allowed: finite, at least 0"
            )

    def select(self, candidates: SelectionCandidates) -> Selection:
        """The heaviest items after the lift; gains and certificate are in lifted weights."""
        age = np.arange(candidates.size, dtype=np.float64) / max(candidates.size - 1, 1)
        lifted = replace(
            candidates, relevance=candidates.relevance * (1.0 + self.recency_factor * age)
        )
        return GreedyByWeightAlgorithm(prefer_summarize=self.prefer_summarize).select(lifted)


@dataclass(frozen=True, slots=True)
class DependencyAwareAlgorithm:
    """Another algorithm over groups: items of one group are chosen together or not at all.

    Attributes:
        inner: the algorithm that chooses among groups; a group is as relevant as its best item,
            costs all its items, and is as new as its newest.
    """

    inner: SelectionAlgorithm = field(default_factory=GreedyByWeightAlgorithm)

    @property
    def name(self) -> str:
        """The name of the inner algorithm, marked."""
        return f"dependency_aware({self.inner.name})"

    def select(self, candidates: SelectionCandidates) -> Selection:
        """Whole groups; the gain of a group stands at its first item, the others have 0."""
        if candidates.groups is None:
            return self.inner.select(candidates)
        members = group_members(candidates.groups)
        picked = self.inner.select(join_groups(candidates, members))
        pairs = sorted(
            (item, tier)
            for group, tier in zip(picked.chosen, picked.tiers, strict=True)
            for item in members[group]
        )
        order: list[int] = []
        gains: list[float] = []
        for group, gain in zip(picked.order, picked.gains, strict=True):
            order.extend(members[group])
            gains.extend([gain, *[0.0] * (len(members[group]) - 1)])
        clip = picked.clip
        if clip is not None:
            clip = max(members[clip], key=lambda item: (candidates.relevance[item], item))
        return replace(
            picked,
            chosen=tuple(item for item, _ in pairs),
            tiers=tuple(tier for _, tier in pairs),
            order=tuple(order),
            gains=tuple(gains),
            clip=clip,
        )
