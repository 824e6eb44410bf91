"""Turn a request into what a preset looks at."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from eunoe.domain.atom import Atom
from eunoe.pipeline.chat.memory import ContentEntry
from eunoe.pipeline.policies.presets.chat import PresetChat
from eunoe.pipeline.recalling.recall import message_kinds
from eunoe.pipeline.request import Request
from eunoe.stages.excerpts import split_sentences
from eunoe.stages.quoting import BLOCK_TOKENS, spoken_text

PRESET_GIST_CHARACTERS = 600
"""A first sentence longer than this is no gist."""


def read_preset_chat(
    request: Request,
    forced: Sequence[Atom],
    room: int,
    start: int,
    *,
    in_block: bool,
    embedded: bool = True,
) -> PresetChat | None:
    """The finished turns as presets see them; None if there is no question or no finished turn.

    Args:
        forced: atoms that a flag keeps, which are no candidates.
        room: tokens for the choice, the block's own framing included.
        start: where ``!context`` lets the history begin.
        in_block: whether the choice will be quoted, where even broken atoms can stand.
        embedded: whether embeddings are asked for, where there is an embedder.

    Raises:
        TimeIsOverError: the time for scoring is over.
    """
    size, transcript, settings = request.turn_start, request.transcript, request.settings
    query = request.query
    if request.question is None or query is None or not size:
        return None
    rows = transcript.term_rows(request.expired)
    holder = transcript.atom_of_message.view()
    return PresetChat(
        analyses=[e.analysed() for e in request.entries[:size]],
        query=query,
        matrix=rows.matrix(),
        asked=rows.column(query.terms, query.counts),
        kinds=message_kinds(request),
        turn=transcript.turn_of_message.view(),
        base=_base_weights(request),
        holder=holder,
        first=transcript.atom_first.view(),
        cost=transcript.atom_tokens.view(),
        open=_open_atoms(request, start, in_block=in_block),
        room=room - BLOCK_TOKENS if in_block else room,
        likeness=_preset_likeness(request, request.entries[request.question]) if embedded else None,
        pinned=frozenset(int(holder[a.first]) for a in forced),
        pair_coherence=settings.pair_coherence,
        tool_penalty=settings.tool_penalty,
        fallback_turns=settings.recency_fallback_turns,
        max_candidates=settings.max_candidates,
        first_sentences=partial(first_sentences, request),
        count_batch=request.counter.count_batch,
        find_names=request.namer,
        judge=request.judge,
    )


def _open_atoms(request: Request, start: int, *, in_block: bool) -> NDArray[np.bool_]:
    """Which atoms a preset may choose, shape (m,): none that flags decide, no system message."""
    transcript, size = request.transcript, request.turn_start
    found = (transcript.atom_system.view() == 0) & (transcript.atom_first.view() >= start)
    dropped = [i for i in request.flags.by_message if i < size and request.dropped_by_flag(i)]
    decided = [*request.kept_by_flag, *dropped]
    found[transcript.atom_of_message.view()[decided]] = False
    if not in_block:
        found &= np.array([not a.broken for a in transcript.atoms], dtype=bool)
    return np.asarray(found)


def _base_weights(request: Request) -> NDArray[np.float64]:
    """The weight that a flag gives each finished message, 1 without one, shape (n,)."""
    base = np.ones(request.turn_start)
    for i, flags in request.flags.by_message.items():
        if flags.weight is not None and i < base.size:
            base[i] = flags.weight
    return base


def _preset_likeness(request: Request, question: ContentEntry) -> NDArray[np.float64] | None:
    """What an embedder says of the finished turns, as far as it is known in time."""
    embedder = request.advisers.embedder
    if embedder is None:
        return None
    likeness, warning = embedder.likeness(request.transcript, question, request.expired)
    if warning:
        request.notes.append(warning)
    return likeness


def first_sentences(request: Request, places: Sequence[int]) -> list[str]:
    """The first sentence of each message; empty where that is all of it, or too long."""
    return [first_sentence(spoken_text(request.messages[i])) for i in places]


def first_sentence(text: str) -> str:
    """The first sentence and a mark that more follows; empty where nothing follows."""
    head = text[:PRESET_GIST_CHARACTERS]
    pieces = split_sentences(head, 0, len(head))
    if len(pieces) < 2:
        return ""
    return f"{head[pieces[0][0] : pieces[0][1]]} …"
