"""What a cut carries over in a chat with tools, so that the next calls find their values.

A question seldom names the ids, codes and names that its calls will pass, so no recall by relevance
brings them. What is carried follows from the messages before the cut alone: it stays the same, word
for word, until the next cut, and keeps the prompt cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eunoe.domain.atom import Atom
from eunoe.pipeline.arranging.view import View
from eunoe.pipeline.recalling.calling import held_values, known_values
from eunoe.pipeline.recalling.quoted_block import tokens_as_quoted
from eunoe.pipeline.request import Request
from eunoe.stages.quoting import BLOCK_TOKENS, LINE_TOKENS
from eunoe.stages.selection.greedy import GreedyWalk, run_greedy
from eunoe.stages.selection.tiers import plain_elements
from eunoe.stages.selection.value_coverage import ValueObjective
from eunoe.stages.window import WaterMarks

CARRY_REASON = "carried over the cut: calls may need its values"
_CARRY_EXPONENT = 0.5
_CARRY_LEAST_TOKENS = 64
_CARRY_CANDIDATES = 500
_CARRY_REMEMBERED = 8


def carried_over(request: Request, start: int, budget: int) -> list[Atom]:
    """The atoms before a cut at ``start`` that cover the most values within the budget.

    Args:
        start: where the window begins; a turn start.
        budget: tokens, the framing of the block included.

    Returns:
        Atoms in order; none where no tool was called before ``start``.
    """
    transcript = request.transcript
    if budget < BLOCK_TOKENS + _CARRY_LEAST_TOKENS:
        return []
    barred = frozenset(i for i in request.flags.by_message if request.dropped_by_flag(i))
    key = (start, budget, barred)
    places = transcript.carried.get(key)
    if places is None:
        places = _cover_values(request, start, budget - BLOCK_TOKENS, barred)
        while len(transcript.carried) >= _CARRY_REMEMBERED:
            transcript.carried.pop(next(iter(transcript.carried)), None)
        transcript.carried[key] = places
    kept = request.kept_by_flag
    atoms = [transcript.atoms[k] for k in places]
    return [a for a in atoms if kept.isdisjoint(a.indices)]


def _cover_values(
    request: Request, start: int, budget: int, barred: frozenset[int]
) -> tuple[int, ...]:
    """Places of the chosen atoms, ascending."""
    transcript = request.transcript
    first = transcript.atom_first.view()
    before = int(first.searchsorted(start))
    places = [
        k
        for k in range(max(0, before - _CARRY_CANDIDATES), before)
        if not transcript.atoms[k].system
        and not transcript.atoms[k].broken
        and barred.isdisjoint(transcript.atoms[k].indices)
    ]
    if not places:
        return ()
    rows = known_values(transcript)
    weight = rows.weights(start)
    for k in range(before):
        if transcript.atoms[k].system:
            for i in transcript.atoms[k].indices:
                weight[rows.of(i)] = 0.0
    held = [held_values(rows, transcript.atoms[k]) for k in places]
    none = np.zeros(len(places))
    walk = GreedyWalk(
        ValueObjective(none, held, weight),
        plain_elements(_quoted_tokens(request, places)),
        none,
        np.ones(len(places), dtype=bool),
        budget,
    )
    outcome = run_greedy(walk, _CARRY_EXPONENT)
    return tuple(sorted(places[pick.element] for pick in outcome.picks))


def _quoted_tokens(request: Request, places: Sequence[int]) -> NDArray[np.int64]:
    """Tokens of atoms in the block, at most: their own, those of names, and of their lines."""
    atoms = [request.transcript.atoms[k] for k in places]
    count = request.counter.count
    named = [sum(count(n) for i in a.indices if (n := request.messages[i].name)) for a in atoms]
    lines = [LINE_TOKENS * len(a.indices) for a in atoms]
    where = np.array(places, dtype=np.int64)
    own = tokens_as_quoted(request, where, request.transcript.atom_tokens.view()[where])
    return np.asarray(own + np.array(named) + np.array(lines))


@dataclass(frozen=True, slots=True)
class CarriedOver:
    """What a cut at ``start`` carries over, and its tokens in the view."""

    start: int = 0
    atoms: tuple[Atom, ...] = ()
    tokens: int = 0


NOTHING_CARRIED = CarriedOver()


def carry_over(request: Request, marks: WaterMarks, start: int) -> CarriedOver:
    """What a cut carries over: it follows from the messages before it and the room alone."""
    atoms = carried_over(request, start, marks.carried(request.timeline, start))
    if not atoms:
        return NOTHING_CARRIED
    return CarriedOver(start, tuple(atoms), marks.carried(request.timeline, start))


def has_room_for(
    request: Request, marks: WaterMarks, carried: CarriedOver, start: int, stop: int
) -> bool:
    """Whether what is carried over fits beside the window at the request before ``stop``.

    What is recalled plays no part: between cuts it must neither hide nor bring what is carried.
    """
    return request.timeline.used(start, max(start, stop)) + carried.tokens <= marks.room


def put_carried(view: View, carried: CarriedOver) -> None:
    """Put what is carried over in the view, in place of what was recalled as well.

    Both may hold an atom where the running turn cut anew. What is carried stays until the next cut;
    what is recalled may change before, and must not change the other.
    """
    places = {a.first for a in carried.atoms}
    view.quoted = [a for a in view.quoted if a.first not in places]
    view.parts = {i: part for i, part in view.parts.items() if i not in places}
    view.carried, view.carried_before = list(carried.atoms), carried.start
    view.reasons.update((i, CARRY_REASON) for a in view.carried for i in a.indices)
