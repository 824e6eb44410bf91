"""Choose what is shown under a budget, and prove how good the choice is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from eunoe.domain.certificate import Certificate
from eunoe.stages.selection.candidates import SelectionCandidates
from eunoe.stages.selection.certificate import CERTIFICATE_CHECKPOINTS, certify, knapsack_bound
from eunoe.stages.selection.coverage import CoverageObjective, MigObjective, Objective
from eunoe.stages.selection.greedy import GreedyOutcome, GreedyWalk, run_greedy
from eunoe.stages.selection.modular import run_modular, take_by_worth
from eunoe.stages.selection.tiers import Tier, TierElements, best_tiers, tiers_of

ObjectiveName = Literal["coverage", "mig"]
SelectPolicy = Literal["preferred", "max_F"]

SELECT_EXPONENT = 0.5
SELECT_EXPONENTS = (0.5, 1.0, 0.0)
SELECT_BETA = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """A choice.

    Attributes:
        chosen: items, ascending, forced ones included.
        tiers: the form of each, parallel to ``chosen``.
        order: items in the order of picking, forced ones not included; an item that was first
            picked in a short form and later in a fuller one stands twice.
        gains: what each pick brought, parallel to ``order``.
        cost: tokens of everything chosen; at most the budget unless ``overage`` says otherwise.
        certificate: how good the choice is under its own objective.
        overage: tokens by which the forced items exceed the budget; then nothing else is chosen.
        clip: the most relevant item, to be cut to the budget, when items exist but none fits.
        warnings: what was mended in the input.
    """

    chosen: tuple[int, ...]
    tiers: tuple[Tier, ...]
    order: tuple[int, ...]
    gains: tuple[float, ...]
    cost: int
    certificate: Certificate
    overage: int = 0
    clip: int | None = None
    warnings: tuple[str, ...] = ()


def select_items(
    candidates: SelectionCandidates,
    *,
    objective: ObjectiveName = "coverage",
    beta: float = SELECT_BETA,
    exponent: float = SELECT_EXPONENT,
    policy: SelectPolicy = "preferred",
    checkpoints: int = CERTIFICATE_CHECKPOINTS,
) -> Selection:
    """The most worth within the budget, by greedy with Greedy+Max.

    Forced items come first, at their fullest form; if they do not fit, those that are not protected
    step down tier by tier, oldest first. When everything fits, everything is chosen, whatever it is
    worth; otherwise items that add nothing are left out.

    Args:
        candidates: what there is, and the budget.
        objective: "coverage" (monotone submodular) or "mig" (the seed's order-dependent rule, whose
            bound is the plain sum of relevance).
        beta: weight of likeness, in [0, 1]; see ``estimate_beta``.
        exponent: cost exponent, at least 0; 1 is gain per token.
        policy: "preferred" runs with ``exponent``; "max_F" also with 0.5, 1 and 0, best F wins.
        checkpoints: at how many greedy prefixes the bound is measured, at least 1.

    Returns:
        A choice with its certificate; the same for the same input.

    Raises:
        ValueError: an argument is out of range.
    """
    if objective not in ("coverage", "mig"):
        raise ValueError(f"objective is {objective!r}; allowed: 'coverage', 'mig'")
    if policy not in ("preferred", "max_F"):
        raise ValueError(f"policy is {policy!r}; allowed: 'preferred', 'max_F'")
    if not 0.0 <= exponent < float("inf"):
        raise ValueError(f"exponent is {exponent!r}; allowed: finite, at least 0")
    if not 0.0 <= beta <= 1.0:
        raise ValueError(f"beta is {beta!r}; allowed: 0 to 1")
    given, left = place_forced(candidates)
    allowed = ~(candidates.forced | candidates.barred)
    exponents = [exponent]
    if policy == "max_F":
        exponents += [other for other in SELECT_EXPONENTS if other != exponent]
    if left >= 0 and int(candidates.full_cost[allowed].sum()) <= left:
        everything = _select_all(candidates, given, allowed, objective, beta)
        return _with_forced_whole(everything, candidates, allowed, objective, beta)
    if candidates.similarity is None and candidates.elements.is_plain:
        base = float(candidates.relevance[candidates.forced].sum())
        runs = [
            run_modular(candidates.relevance, candidates.elements, allowed, left, power, base=base)
            for power in exponents
        ]
    else:
        walk = GreedyWalk(
            make_objective(candidates, objective, beta),
            candidates.elements,
            candidates.relevance,
            allowed,
            left,
            given,
        )
        if candidates.similarity is None:
            checkpoints = 1  # gains do not change, so the first bound is the least
        runs = [run_greedy(walk, power, checkpoints=checkpoints) for power in exponents]
    selection = selection_from(candidates, given, left, best_outcome(runs))
    return _with_forced_whole(selection, candidates, allowed, objective, beta)


def select_plain(relevance: NDArray[np.float64], cost: NDArray[np.int64], budget: int) -> Selection:
    """``select_items`` at exponent 0, for items that are unlike, have one form and are all free.

    Args:
        relevance: shape (n,), finite, at least 0, oldest item first.
        cost: shape (n,), tokens; below 1 counts as 1.
        budget: tokens.
    """
    cost = np.maximum(cost, 1)
    if int(cost.sum()) <= budget or not cost.size:
        return select_items(SelectionCandidates.of(relevance, cost, budget), exponent=0.0)
    run = take_by_worth(relevance, cost, budget)
    order = tuple(run.elements)
    none_fits = np.flatnonzero(relevance == relevance.max())[-1] if not order else None
    return Selection(
        chosen=tuple(sorted(order)),
        tiers=(Tier.VERBATIM,) * len(order),
        order=order,
        gains=tuple(run.gains),
        cost=sum(run.prices),
        certificate=certify(run.value, run.upper_bound),
        clip=None if none_fits is None else int(none_fits),
    )


def _with_forced_whole(
    selection: Selection,
    candidates: SelectionCandidates,
    allowed: NDArray[np.bool_],
    objective: ObjectiveName,
    beta: float,
) -> Selection:
    """The choice with a bound that holds whichever of the forced items step down, and how far.

    They are worth the most whole, and leave the most room at their least.
    """
    if candidates.full_cost[candidates.forced].sum() <= candidates.budget:
        return selection
    elements = candidates.elements
    state = make_objective(candidates, objective, beta)
    forced = np.flatnonzero(candidates.forced)
    for item in forced.tolist():
        state.add(int(elements.start[item + 1]) - 1)
    free = forced[~candidates.protected[forced]]
    whole = int(candidates.full_cost[candidates.protected].sum())
    least = whole + int(elements.cost[elements.start[free]].sum())
    gains = state.gains() if state.is_submodular else candidates.relevance[elements.item]
    bound = state.value() + knapsack_bound(gains, elements, candidates.budget - least, allowed)
    proof = selection.certificate
    return replace(selection, certificate=certify(proof.value, max(proof.upper_bound, bound)))


def make_objective(
    candidates: SelectionCandidates, objective: ObjectiveName, beta: float
) -> Objective:
    """The objective of that name over these candidates."""
    kind = CoverageObjective if objective == "coverage" else MigObjective
    return kind(candidates.relevance, candidates.elements, candidates.similarity, beta=beta)


def place_forced(candidates: SelectionCandidates) -> tuple[tuple[int, ...], int]:
    """The element of every forced item, and the tokens left for others (below 0: too large).

    Items that are not protected step down while the forced ones do not fit: first all to the next
    lower tier, oldest first, then to the one below.
    """
    elements = candidates.elements
    chosen = {
        item: int(elements.start[item + 1]) - 1
        for item in np.flatnonzero(candidates.forced).tolist()
    }
    left = candidates.budget - sum(int(elements.cost[element]) for element in chosen.values())
    soft = [item for item in chosen if not candidates.protected[item]]
    for tier in (Tier.SUMMARY, Tier.GIST, Tier.STUB):
        for item in soft:
            lower = chosen[item] - 1
            if left >= 0:
                break
            if lower >= elements.start[item] and elements.tier[lower] == tier:
                left += int(elements.cost[chosen[item]] - elements.cost[lower])
                chosen[item] = lower
    return tuple(chosen.values()), left


def best_outcome(runs: list[GreedyOutcome]) -> GreedyOutcome:
    """The run of largest value, the earliest among equals, with the least bound of all."""
    best = runs[0]
    for run in runs[1:]:
        if run.value > best.value:
            best = run
    return GreedyOutcome(best.picks, best.value, min(run.upper_bound for run in runs))


def selection_from(
    candidates: SelectionCandidates,
    given: tuple[int, ...],
    left: int,
    outcome: GreedyOutcome,
) -> Selection:
    """A run as a choice.

    Args:
        candidates: what there was.
        given: the elements of the forced items.
        left: tokens that the forced items leave, below 0 when they do not fit.
        outcome: the run over the others.

    Returns:
        The choice, with ``overage`` and ``clip`` where they apply.
    """
    elements = candidates.elements
    picked = [pick.element for pick in outcome.picks]
    best = best_tiers(elements, [*given, *picked])
    shown = list(best.values())
    return Selection(
        chosen=tuple(best),
        tiers=tiers_of(elements, shown),
        order=tuple(elements.item[picked].tolist()) if picked else (),
        gains=tuple(pick.gain for pick in outcome.picks),
        cost=int(elements.cost[shown].sum()) if shown else 0,
        certificate=certify(outcome.value, outcome.upper_bound),
        overage=max(0, -left) if given else 0,
        clip=None if best else _clip_candidate(candidates),
        warnings=candidates.warnings,
    )


def _clip_candidate(candidates: SelectionCandidates) -> int | None:
    """The most relevant item that may be chosen, the newest among equals."""
    open_items = np.flatnonzero(~candidates.barred)
    if not open_items.size:
        return None
    worth = candidates.relevance[open_items]
    return int(open_items[np.flatnonzero(worth == worth.max())[-1]])


def _select_all(
    candidates: SelectionCandidates,
    given: tuple[int, ...],
    allowed: NDArray[np.bool_],
    objective: ObjectiveName,
    beta: float,
) -> Selection:
    """Everything that is not barred, word for word; newest first."""
    elements: TierElements = candidates.elements
    state = make_objective(candidates, objective, beta)
    for element in given:
        state.add(element)
    rest = [int(elements.start[item + 1]) - 1 for item in np.flatnonzero(allowed)[::-1].tolist()]
    gains = tuple(state.add(element) for element in rest)
    value = bound = state.value()
    if not state.is_submodular:  # a part, or another order, may be worth more
        bound = max(value, float(candidates.relevance[~candidates.barred].sum()))
    best = best_tiers(elements, [*given, *rest])
    shown = list(best.values())
    return Selection(
        chosen=tuple(best),
        tiers=tiers_of(elements, shown),
        order=tuple(elements.item[rest].tolist()) if rest else (),
        gains=gains,
        cost=int(elements.cost[shown].sum()) if shown else 0,
        certificate=certify(value, bound),
        warnings=candidates.warnings,
    )
