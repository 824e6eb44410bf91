"""Bring back older messages that this question needs: candidates, gate, choice, quotation."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from eunoe.domain.atom import Atom
from eunoe.domain.message import Message
from eunoe.domain.report import Certificate
from eunoe.pipeline.arrangement import spoken_text
from eunoe.pipeline.calling import select_for_calls
from eunoe.pipeline.excerpting import Excerpt, ExcerptPool, fill_with_excerpts
from eunoe.pipeline.lifting import lift_by_cues
from eunoe.pipeline.request import Request
from eunoe.stages.quoting import BLOCK_TOKENS, LINE_TOKENS, Quotation, quote_block
from eunoe.stages.scoring.adjusting import (
    ADJUST_ANSWER,
    ADJUST_QUESTION,
    ADJUST_TOOL,
    share_within_turns,
    weigh_tool_flow,
)
from eunoe.stages.scoring.price import price_relevance
from eunoe.stages.scoring.profile import Relevance
from eunoe.stages.selection.candidates import SelectionCandidates
from eunoe.stages.selection.selecting import select_items

GIST_LINE_TOKENS = 8
"""Tokens of the line of a message shown in part, beyond text and name, at most."""


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """Relevance of every finished message to the question.

    Attributes:
        values: shape (n,), in [0, 1].
        answer: what the index said; None if there was nothing to ask.
    """

    values: NDArray[np.float64]
    answer: Relevance | None = None

    def of(self, atom: Atom) -> float:
        """The relevance of an atom: its best message's."""
        inside = [i for i in atom.indices if i < len(self.values)]
        return float(max(self.values[i] for i in inside)) if inside else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What was chosen of the older messages.

    Attributes:
        atoms: chosen atoms, oldest first.
        tokens: what they take, quotation included.
        worth: their relevance, added up.
        certificate: how good the choice is.
        excerpts: parts of long messages that were not chosen, in the room that is left over.
    """

    atoms: tuple[Atom, ...] = ()
    tokens: int = 0
    worth: float = 0.0
    certificate: Certificate | None = None
    excerpts: tuple[Excerpt, ...] = ()

    def in_block(self) -> list[Atom]:
        """The chosen atoms and the messages shown in part, oldest first."""
        return sorted([*self.atoms, *(e.atom for e in self.excerpts)], key=lambda a: a.first)

    def gists(self) -> dict[int, str]:
        """What stands in place of the text of the messages shown in part."""
        return {e.atom.first: e.text for e in self.excerpts}


def score_history(request: Request) -> Scored:
    """Relevance of the finished turns to the current question; zeros if there is no question."""
    size = request.turn_start
    if request.question is None or not size:
        return Scored(np.zeros(size))
    question = request.entries[request.question]
    index = request.transcript.indexed(request.expired)
    advice = request.advisers.ask(request.transcript, question, request.expired, request.chat)
    request.notes.extend(advice.warnings)
    answer = index.relevance(
        question.analysed(),
        upto=size,
        likeness=advice.likeness,
        labels=advice.labels,
        ahead=advice.ahead,
    )
    lifted = lift_by_cues(request.transcript, question.analysed(), answer, answer.values)
    values = adjust_by_settings(request, lifted)
    return Scored(weigh_by_flags(request, values), answer)


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


def choose_atoms(
    request: Request,
    scored: Scored,
    start: int,
    stop: int,
    budget: int,
    *,
    quoted: bool,
    in_view: Collection[int] = (),
) -> Choice:
    """The knapsack over atoms: the most relevance that fits in the budget.

    Atoms that a flag keeps or leaves out are no candidates, nor are system messages.

    Args:
        start, stop: the atoms of the turns that begin in ``[start, stop)`` are the candidates.
        budget: tokens.
        quoted: whether the choice will stand in a quoted block, which has its own framing.
        in_view: places of atoms that stand in the view already.
    """
    room = budget - BLOCK_TOKENS if quoted else budget
    places, worth = _candidate_atoms(request, scored, start, stop, in_view, quoted=quoted)
    if room <= 0 or not len(places):
        return Choice()
    cost = request.transcript.atom_tokens.view()[places]
    utility = price_relevance(worth, cost, exponent=request.settings.cost_exponent)
    if request.acts_by_tools:
        selection = select_for_calls(request, places, worth, cost, room)
    else:
        selection = select_items(SelectionCandidates.of(utility, cost, room), exponent=0.0)
    pool = ExcerptPool(places, worth, cost, selection.chosen, scored.values, scored.answer)
    left = budget - BLOCK_TOKENS - int(selection.cost)
    excerpts, gone = fill_with_excerpts(request, pool, left)
    chosen = [k for k in selection.chosen if k not in gone]
    head = BLOCK_TOKENS if excerpts or (quoted and chosen) else 0
    given = selection.certificate
    lost = sum(g for k, g in zip(selection.order, selection.gains, strict=True) if k in gone)
    return Choice(
        atoms=tuple(request.transcript.atoms[places[k]] for k in chosen),
        tokens=int(cost[chosen].sum()) + sum(e.tokens for e in excerpts) + head,
        worth=float(worth[chosen].sum()),
        certificate=replace(given, value=max(0.0, given.value - lost)) if gone else given,
        excerpts=excerpts,
    )


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


def worth_curve(
    request: Request, scored: Scored, start: int, stop: int, in_view: Collection[int] = ()
) -> WorthCurve:
    """The curve of the atoms in ``[start, stop)`` that could be quoted."""
    places, worth = _candidate_atoms(request, scored, start, stop, in_view, quoted=True)
    cost = request.transcript.atom_tokens.view()[places]
    order = np.argsort(-price_relevance(worth, cost), kind="stable")
    return WorthCurve(np.cumsum(cost[order]), np.cumsum(worth[order]))


def _candidate_atoms(
    request: Request,
    scored: Scored,
    start: int,
    stop: int,
    in_view: Collection[int],
    *,
    quoted: bool,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Places of the candidates among the atoms, and their relevance; both ascending by place."""
    transcript = request.transcript
    first = transcript.atom_first.view()
    worth = np.zeros(len(first))
    np.maximum.at(worth, transcript.atom_of_message.view(), scored.values)
    open_atoms = (first >= start) & (first < stop) & (transcript.atom_system.view() == 0)
    if quoted and worth.size:
        open_atoms &= worth >= request.settings.recall_floor * worth.max()
    if quoted or not request.acts_by_tools:
        open_atoms &= worth > 0
    open_atoms[list(in_view)] = False
    dropped = (i for i in request.flags.by_message if request.dropped_by_flag(i))
    for i in (*request.kept_by_flag, *dropped):
        if i < len(scored.values):
            open_atoms[transcript.atom_of_message.view()[i]] = False
    places = np.flatnonzero(open_atoms)
    limit = request.settings.max_candidates
    if len(places) > limit:
        best = np.argsort(-worth[places], kind="stable")[:limit]
        places = np.sort(places[best])
    if not quoted:
        whole = [k for k in places.tolist() if not transcript.atoms[k].broken]
        places = np.array(whole, dtype=np.int64)
    return places, worth[places]


def quotation_of(
    request: Request, atoms: Sequence[Atom], gists: Mapping[int, str] = MappingProxyType({})
) -> str:
    """The quoted block for some atoms, in the order given; empty for none.

    Args:
        gists: what stands in place of the text of some messages.
    """
    messages = request.messages
    offset = 0 if messages and messages[0].role == "user" else -1
    quotations = [
        Quotation(atom.turn + offset, _speaker(messages[i]), text, i in gists)
        for atom in atoms
        for i in atom.indices
        if (text := gists.get(i) or spoken_text(messages[i]))
    ]
    in_order = all(a.first <= b.first for a, b in pairwise(atoms))
    return quote_block(quotations, in_order=in_order) if quotations else ""


def most_quoted_tokens(
    request: Request,
    atoms: Sequence[Atom],
    block: str,
    gists: Mapping[int, str] = MappingProxyType({}),
) -> int:
    """An upper bound of a block's tokens as a message, from the tokens of what it quotes.

    A text in the block takes at most its own tokens and its line's framing, a name its tokens, each
    defused tag one more. So a block of thousands of tokens need not be counted anew each time.
    """
    messages = [i for a in atoms for i in a.indices]
    whole = sum([request.entries[i].tokens for i in messages if i not in gists])
    part = sum([GIST_LINE_TOKENS + request.counter.count(gists[i]) for i in messages if i in gists])
    speakers = [_speaker(m) for m in map(request.messages.__getitem__, messages) if m.name]
    size = {name: request.counter.count(name) for name in dict.fromkeys(speakers)}
    named = sum(size[name] for name in speakers)
    return BLOCK_TOKENS + whole + part + named + LINE_TOKENS * len(messages) + block.count("\\")


def _speaker(message: Message) -> str:
    return message.name if message.name and message.role == "user" else message.role
