"""The choice in a chat that acts through tools: relevance, and values that calls may pass.

A question seldom names the ids, codes and names that the calls it leads to will pass, so relevance
alone leaves them out. The more values a choice covers, the fewer calls lack theirs.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from eunoe.domain.atom import Atom
from eunoe.pipeline.chat.transcript import Transcript
from eunoe.pipeline.request import Request
from eunoe.stages.quoting import spoken_text
from eunoe.stages.scoring.live_values import ValueRows
from eunoe.stages.selection.candidates import SelectionCandidates
from eunoe.stages.selection.greedy import GreedyWalk, run_greedy
from eunoe.stages.selection.selecting import Selection, selection_from
from eunoe.stages.selection.value_coverage import ValueObjective

_RELEVANCE_OVER_VALUES = 3.0
"""What the most relevant candidate is worth, in units of the values of an average one."""
_VALUES_EXPONENT = 0.5


def select_for_calls(
    request: Request,
    places: NDArray[np.int64],
    worth: NDArray[np.float64],
    cost: NDArray[np.int64],
    budget: int,
) -> Selection:
    """The atoms of most relevance and most distinct values within the budget.

    Args:
        places: the candidates among the atoms, ascending, shape (n,).
        worth: their relevance, shape (n,).
        cost: their tokens, shape (n,).
        budget: tokens.
    """
    transcript = request.transcript
    rows = known_values(transcript)
    weight = rows.weights(len(rows))
    for atom in request.systems_before(request.turn_start):
        weight[rows.of(atom.first)] = 0.0  # always in view
    held = [held_values(rows, transcript.atoms[k]) for k in places.tolist()]
    average = sum(float(weight[numbers].sum()) for numbers in held) / max(1, len(held))
    own = worth * (_RELEVANCE_OVER_VALUES / max(1e-12, float(worth.max(initial=0.0))))
    candidates = SelectionCandidates.of(own, cost, budget)
    walk = GreedyWalk(
        ValueObjective(own, held, weight / max(1e-12, average)),
        candidates.elements,
        own,
        np.ones(len(places), dtype=bool),
        budget,
    )
    return selection_from(candidates, (), budget, run_greedy(walk, _VALUES_EXPONENT))


def held_values(rows: ValueRows, atom: Atom) -> list[int]:
    """Numbers of the values that an atom holds."""
    if len(atom.indices) == 1:
        return rows.of(atom.first)
    return list(dict.fromkeys(x for i in atom.indices for x in rows.of(i)))


def known_values(transcript: Transcript) -> ValueRows:
    """The values of all finished turns; what was read before is not read again."""
    rows = transcript.values
    for entry in transcript.entries[len(rows) :]:
        said = spoken_text(entry.message)
        rows.append(*(("", said) if entry.message.is_result else (said, "")))
    return rows
