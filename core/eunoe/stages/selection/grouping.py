"""Items that travel together, as one item each.

Source: disjoint groups are the elements of a smaller knapsack, so every guarantee carries over.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from eunoe.stages.selection.candidates import SelectionCandidates, SparseSimilarity
from eunoe.stages.selection.tiers import Tier, TierElements


def group_members(groups: NDArray[np.intp]) -> tuple[tuple[int, ...], ...]:
    """The items of every group.

    Args:
        groups: shape (n,), labels; below 0 an item is its own group.

    Returns:
        Items ascending; groups by their newest item, ascending.
    """
    labelled: dict[int, list[int]] = {}
    for item, label in enumerate(groups.tolist()):
        labelled.setdefault(label if label >= 0 else -1 - item, []).append(item)
    return tuple(sorted((tuple(items) for items in labelled.values()), key=lambda items: items[-1]))


def join_groups(
    candidates: SelectionCandidates, members: tuple[tuple[int, ...], ...]
) -> SelectionCandidates:
    """Candidates with one item per group.

    Relevance and likeness are the largest among the members, cost is the sum; a group is forced,
    protected or barred when one of its members is. Items alone keep their short forms.

    Args:
        candidates: n items.
        members: g groups that cover them.

    Returns:
        g items, without ids.
    """
    label = np.empty(candidates.size, dtype=np.intp)
    for group, items in enumerate(members):
        label[list(items)] = group
    forced = _any_member(candidates.forced, label, len(members))
    return SelectionCandidates(
        relevance=np.asarray(
            [candidates.relevance[list(items)].max() for items in members], dtype=np.float64
        ),
        elements=_join_elements(candidates.elements, members),
        budget=candidates.budget,
        similarity=_join_similarity(candidates.similarity, label, len(members)),
        forced=forced,
        protected=_any_member(candidates.protected, label, len(members)),
        barred=_any_member(candidates.barred, label, len(members)) & ~forced,
        warnings=candidates.warnings,
    )


def _any_member(mask: NDArray[np.bool_], label: NDArray[np.intp], count: int) -> NDArray[np.bool_]:
    """Which groups hold a marked item."""
    result: NDArray[np.bool_] = np.bincount(label[mask], minlength=count) > 0
    return result


def _join_elements(elements: TierElements, members: tuple[tuple[int, ...], ...]) -> TierElements:
    """The elements of groups: all forms of a single item, else one verbatim form."""
    rows: list[tuple[int, int, float, int]] = []
    start = [0]
    for group, items in enumerate(members):
        if len(items) == 1:
            for place in range(int(elements.start[items[0]]), int(elements.start[items[0] + 1])):
                tier, share = int(elements.tier[place]), float(elements.fidelity[place])
                rows.append((group, tier, share, int(elements.cost[place])))
        else:
            whole = sum(int(elements.cost[elements.start[item + 1] - 1]) for item in items)
            rows.append((group, int(Tier.VERBATIM), 1.0, whole))
        start.append(len(rows))
    return TierElements(
        item=np.asarray([row[0] for row in rows], dtype=np.intp),
        tier=np.asarray([row[1] for row in rows], dtype=np.intp),
        fidelity=np.asarray([row[2] for row in rows], dtype=np.float64),
        cost=np.asarray([row[3] for row in rows], dtype=np.int64),
        start=np.asarray(start, dtype=np.intp),
    )


def _join_similarity(
    similarity: SparseSimilarity | None, label: NDArray[np.intp], count: int
) -> SparseSimilarity | None:
    """The largest likeness between members of two groups."""
    if similarity is None:
        return None
    nearest: dict[tuple[int, int], float] = {}
    for item, (begin, end) in enumerate(pairwise(similarity.indptr.tolist())):
        row = int(label[item])
        for place in range(begin, end):
            pair = (row, int(label[similarity.indices[place]]))
            nearest[pair] = max(nearest.get(pair, 0.0), float(similarity.values[place]))
    pairs = sorted(nearest)
    indptr = np.zeros(count + 1, dtype=np.intp)
    np.cumsum(np.bincount([row for row, _ in pairs], minlength=count), out=indptr[1:])
    return SparseSimilarity.of(indptr, [column for _, column in pairs], [nearest[p] for p in pairs])
