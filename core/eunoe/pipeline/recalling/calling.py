"""The choice in a chat that acts through tools: relevance, and values that calls may pass.

A question seldom names the ids, codes and names that the calls it leads to will pass, so relevance
alone leaves them out. The more values a choice covers, the fewer calls lack theirs.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from eunoe.domain.atom import Atom
from eunoe.pipeline.chat.transcript import Transcript
from eunoe.pipeline.recalling.atom_pools import AtomPool
from eunoe.pipeline.request import Request
from eunoe.stages.quoting import spoken_text
from eunoe.stages.scoring.live_values import ValueRows
from eunoe.stages.selection.candidates import SelectionCandidates
from eunoe.stages.selection.certificate import with_left_out
from eunoe.stages.selection.greedy import GreedyWalk, run_greedy
from eunoe.stages.selection.selecting import Selection, selection_from
from eunoe.stages.selection.value_coverage import ValueObjective

_RELEVANCE_OVER_VALUES = 3.0
"""What the most relevant candidate is worth, in units of the values of an average one."""
_VALUES_EXPONENT = 0.5


def select_for_calls(request: Request, pool: AtomPool, budget: int) -> Selection:
    """The atoms of most relevance and most distinct values within the budget."""
    transcript = request.transcript
    rows = known_values(transcript)
    weight = rows.weights(len(rows))
    for atom in request.systems_before(request.turn_start):
        weight[rows.of(atom.first)] = 0.0  # always in view
    held = _values_in(transcript, rows, pool)
    average = sum(float(weight[numbers].sum()) for numbers in held) / max(1, len(held))
    weight = weight / max(1e-12, average)
    most = float(pool.worth.max(initial=0.0))
    scale = _RELEVANCE_OVER_VALUES / max(1e-12, most)
    own = pool.worth * scale
    candidates = SelectionCandidates.of(own, pool.cost, budget)
    walk = GreedyWalk(
        ValueObjective(own, held, weight),
        candidates.elements,
        own,
        np.ones(len(own), dtype=bool),
        budget,
    )
    selection = selection_from(candidates, (), budget, run_greedy(walk, _VALUES_EXPONENT))
    if (others := pool.left_out) is None:
        return selection
    alone = [float(weight[numbers].sum()) for numbers in _values_in(transcript, rows, others)]
    gains = others.worth * scale + np.array(alone)
    certificate = with_left_out(selection.certificate, gains, others.cost, budget)
    return replace(selection, certificate=certificate)


def _values_in(transcript: Transcript, rows: ValueRows, pool: AtomPool) -> list[list[int]]:
    return [held_values(rows, transcript.atoms[k]) for k in pool.places.tolist()]


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
