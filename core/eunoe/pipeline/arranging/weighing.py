"""What a list takes: what was given has been counted, and a quoted block has an upper bound."""

from __future__ import annotations

from collections.abc import Sequence

from eunoe.pipeline.arranging.slots import Slot
from eunoe.pipeline.request import Request
from eunoe.stages.counting.message_cost import REPLY_PRIMING


def weigh_slots(request: Request, slots: Sequence[Slot]) -> tuple[int, list[Slot]]:
    """Tokens of the list, and the slots of which they hold an upper bound alone.

    The bound of a quoted block will do where it is not too much; else the block is counted.
    """
    tokens = REPLY_PRIMING if slots else 0
    raws, entries = request.raws, request.entries
    ours: list[Slot] = []
    for slot in slots:
        i = slot.index
        if i is not None and slot.raw is raws[i]:
            tokens += entries[i].tokens
        else:
            ours.append(slot)
    if not ours:
        return tokens, []
    tokens += request.count([s.raw for s in ours if s.most_tokens is None])
    bounded = [s for s in ours if s.most_tokens is not None]
    most = tokens + _bound_of(bounded)
    if request.allowed is None or most <= request.allowed:
        return most, bounded
    return tokens + request.count([s.raw for s in bounded]), []


def counted_tokens(request: Request, tokens: int, bounded: Sequence[Slot]) -> int:
    """Tokens of the list with nothing bounded, from what ``weigh_slots`` returned."""
    return tokens - _bound_of(bounded) + request.count([s.raw for s in bounded])


def _bound_of(slots: Sequence[Slot]) -> int:
    return sum([s.most_tokens or 0 for s in slots])
