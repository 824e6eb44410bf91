"""Bring back older messages that this question needs: relevance, candidates, choice."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from eunoe.domain.atom import Atom
from eunoe.pipeline.advisers.advice import Advice
from eunoe.pipeline.chat.transcript import Transcript
from eunoe.pipeline.recalling.atom_pools import AtomPool, pool_of
from eunoe.pipeline.recalling.by_strategy import score_by_strategy
from eunoe.pipeline.recalling.lifting import lift_by_cues
from eunoe.pipeline.request import Request
from eunoe.stages.quoting import BLOCK_TOKENS
from eunoe.stages.scoring.adjusting import (
    ADJUST_ANSWER,
    ADJUST_QUESTION,
    ADJUST_TOOL,
    share_within_turns,
    weigh_tool_flow,
)
from eunoe.stages.scoring.analysis import TextAnalysis
from eunoe.stages.scoring.index import RelevanceIndex
from eunoe.stages.scoring.price import price_relevance
from eunoe.stages.scoring.profile import Relevance
from eunoe.stages.selection.ordering import ascending_order, largest_places


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """Relevance of every finished message to the question.

    Attributes:
        values: shape (n,), in [0, 1].
        answer: what the index said; None if there was nothing to ask.
        advice: what models said beside the words.
    """

    values: NDArray[np.float64]
    answer: Relevance | None = None
    advice: Advice = field(default_factory=Advice)

    def of(self, atom: Atom) -> float:
        """The relevance of an atom: its best message's."""
        value, size = self.values.item, len(self.values)
        return max([value(i) for i in atom.indices if i < size], default=0.0)


def score_history(request: Request) -> Scored:
    """Relevance of the finished turns to the current question; zeros if there is no question."""
    size = request.turn_start
    query = request.meant_query
    if request.meant is None or query is None or not size:
        return Scored(np.zeros(size))
    question = request.entries[request.meant]
    index = request.transcript.indexed(request.expired)
    advice = request.advisers.ask(request.transcript, question, request.expired, request.chat)
    request.notes.extend(advice.warnings)
    scorer, names_of = request.strategies.scorer, request.namer
    if advice.says_nothing and scorer is None and names_of is None:
        answer, lifted = _found_by_words(request.transcript, index, query)
    else:
        answer = index.relevance(
            query,
            upto=size,
            likeness=advice.likeness,
            labels=advice.labels,
            ahead=advice.ahead,
        )
        if scorer is not None:
            lifted = score_by_strategy(request, scorer, query, advice)
        else:
            lifted = lift_by_cues(request.transcript, query, answer, answer.values, names_of)
    values = adjust_by_settings(request, lifted)
    return Scored(weigh_by_flags(request, values), answer, advice)


def answer_upto(request: Request, scored: Scored, query: TextAnalysis, upto: int) -> Relevance:
    """What the index says to a question of the messages before a place, models asked beside it."""
    index, advice = request.transcript.indexed(request.expired), scored.advice
    said = {"likeness": advice.likeness, "labels": advice.labels, "ahead": advice.ahead}
    return index.relevance(query, upto=upto, **said)


def _found_by_words(
    transcript: Transcript, index: RelevanceIndex, query: TextAnalysis
) -> tuple[Relevance, NDArray[np.float64]]:
    """What the index says, and the relevance lifted by cues.

    Each step of a turn asks the same, so what was found last is remembered.
    """
    known = transcript.answered
    if known is None or known[0] != query:
        answer = index.relevance(query, upto=len(transcript.entries))
        known = query, answer, lift_by_cues(transcript, query, answer, answer.values)
        transcript.answered = known
    return known[1:]


def message_kinds(request: Request) -> NDArray[np.int8]:
    """``ADJUST_*`` kind of every finished message: question, answer, tool flow; 0 for others."""
    roles = {"user": ADJUST_QUESTION, "assistant": ADJUST_ANSWER}
    kinds = [
        ADJUST_TOOL if m.calls or m.is_result else roles.get(m.role, 0)
        for m in request.messages[: request.turn_start]
    ]
    return np.array(kinds, dtype=np.int8)


def adjust_by_settings(request: Request, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The relevance with pair coherence and tool penalty applied, where they are asked for.

    Within a turn an answer gets at least ``pair_coherence`` times its question's relevance, and the
    question as much of its answer's; then tool flow is multiplied by ``tool_penalty``.
    """
    share, factor = request.settings.pair_coherence, request.settings.tool_penalty
    if not share and factor in (None, 1.0):
        return values
    kinds = message_kinds(request)
    if share:
        turns = request.transcript.turn_of_message.view()
        values = share_within_turns(values, kinds, turns, share)
    return values if factor is None else weigh_tool_flow(values, kinds, factor)


def weigh_by_flags(request: Request, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The relevance with the ``!weight`` of flagged messages applied, kept within [0, 1]."""
    weighted = values
    for i, flags in request.flags.by_message.items():
        if flags.weight is not None and i < len(values):
            weighted = weighted.copy() if weighted is values else weighted
            weighted[i] = min(1.0, weighted[i] * flags.weight)
    return weighted


@dataclass(frozen=True, slots=True, eq=False)
class WorthCurve:
    """About how much relevance a budget would bring back: a cheap bound, no selection.

    Attributes:
        spent: shape (n,), tokens of the first few candidates, the best first.
        gained: shape (n,), their relevance.
    """

    spent: NDArray[np.int64]
    gained: NDArray[np.float64]

    def within(self, budget: int) -> float:
        """Relevance that so many tokens bring back, the framing of the block included."""
        fit = int(self.spent.searchsorted(budget - BLOCK_TOKENS, side="right"))
        return float(self.gained[fit - 1]) if fit else 0.0

    def tokens_for(self, worth: float) -> int:
        """Tokens that bring back so much relevance; those of all candidates if they do not."""
        if not len(self.gained):
            return 0
        place = min(int(self.gained.searchsorted(worth)), len(self.gained) - 1)
        return int(self.spent[place]) + BLOCK_TOKENS


def worth_curve(pool: AtomPool) -> WorthCurve:
    """The curve of some atoms that could be quoted."""
    order = ascending_order(-price_relevance(pool.worth, pool.cost))
    return WorthCurve(pool.cost.take(order).cumsum(), pool.worth.take(order).cumsum())


def atom_pool(
    request: Request,
    scored: Scored,
    start: int,
    stop: int,
    *,
    quoted: bool,
    in_view: Collection[int] = (),
    by_values: bool = False,
) -> AtomPool:
    """The candidates among the atoms of the turns that begin in ``[start, stop)``.

    Atoms that a flag keeps or leaves out are none, nor are system messages.

    Args:
        start, stop: where turns begin.
        quoted: whether the choice will stand in a quoted block.
        in_view: places of atoms that stand in the view already.
        by_values: whether what the question does not speak to is a candidate for its values.
    """
    transcript, values = request.transcript, scored.values
    low, high = request.atom_range(start), request.atom_range(stop)
    if high - low == stop - start:  # each message is an atom
        worth = values[start:stop]
    else:
        holder = transcript.atom_of_message.view()[start:stop]
        worth = np.zeros(high - low)
        np.maximum.at(worth, holder - low, values[start:stop])
    open_atoms = transcript.atom_system.view()[low:high] == 0
    if quoted and values.size and not by_values:
        open_atoms &= worth >= request.settings.recall_floor * values.max()
    if not by_values and (quoted or not request.acts_by_tools):
        open_atoms &= worth > 0
    closed = [*in_view, *(_holders_of_flagged(request))]
    open_atoms[[k - low for k in closed if low <= k < high]] = False
    places = open_atoms.nonzero()[0]
    limit = request.settings.max_candidates
    if len(places) <= limit or request.strategies.algorithm is not None:
        return pool_of(request, places, worth, low, quoted=quoted)
    looked_at = largest_places(worth.take(places), limit)
    others = np.delete(places, looked_at)
    return replace(
        pool_of(request, places.take(looked_at), worth, low, quoted=quoted),
        left_out=pool_of(request, others, worth, low, quoted=quoted),
    )


def _holders_of_flagged(request: Request) -> list[int]:
    """Places of the atoms that a flag keeps or leaves out."""
    if not (request.kept_by_flag or request.flags.by_message):
        return []
    dropped = (i for i in request.flags.by_message if request.dropped_by_flag(i))
    flagged = [i for i in (*request.kept_by_flag, *dropped) if i < request.turn_start]
    return [int(k) for k in request.transcript.atom_of_message.view()[flagged]]
