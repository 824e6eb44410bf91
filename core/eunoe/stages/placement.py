"""The order of the lines of a quoted block: by time, or with what matters most at both ends.

Models attend best to the ends of a long text. Source: Liu et al., Lost in the Middle, 2024.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PlacementZones:
    """What stands at the head and at the tail of a block, by key; the rest stands between."""

    head: frozenset[int] = frozenset()
    tail: frozenset[int] = frozenset()


def u_shape_order(relevance: Sequence[float]) -> list[int]:
    """The most relevant last, the next first, the third before the last, and so on to the middle.

    Args:
        relevance: of each item, oldest first; among equals the newest counts as more relevant.

    Returns:
        Positions in order of display; by time where all are equally relevant.
    """
    places = range(len(relevance))
    if len(set(relevance)) < 2:
        return list(places)
    ranked = sorted(places, key=lambda i: (-relevance[i], -i))
    return ranked[1::2] + ranked[0::2][::-1]


def zoned_order(
    relevance: Sequence[float], keys: Sequence[int], zones: PlacementZones
) -> list[int]:
    """Head by time, then the rest by falling relevance (the newest among equals), tail by time.

    Args:
        relevance: of each item, oldest first.
        keys: what the zones call each item; the head goes before the tail.
        zones: who stands where.

    Source of formula: position table of Lethe (goal and pins, evidence by rank, current task).
    """
    places = range(len(relevance))
    head = [i for i in places if keys[i] in zones.head]
    tail = [i for i in places if keys[i] in zones.tail and keys[i] not in zones.head]
    fixed = {*head, *tail}
    bulk = sorted((i for i in places if i not in fixed), key=lambda i: (-relevance[i], -i))
    return [*head, *bulk, *tail]
