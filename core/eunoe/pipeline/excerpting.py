"""Fill the room that recall leaves over: the part that matters of long messages not taken whole."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eunoe.domain.atom import Atom
from eunoe.pipeline.arrangement import spoken_text
from eunoe.pipeline.request import Request
from eunoe.stages.excerpts import cut_excerpt
from eunoe.stages.quoting import BLOCK_TOKENS
from eunoe.stages.scoring.index import Relevance
from eunoe.stages.scoring.words import look_up_words, split_words

EXCERPT_LINE_TOKENS = 12
"""Tokens of an excerpt's line beyond its text: turn, speaker, the word, framing; at most."""

_EXCERPT_LEAST_TOKENS = 150
_EXCERPT_LEAST_ROOM = 28
_EXCERPT_MOST_TOKENS = 200
_EXCERPT_CANDIDATES = 6
_EXCERPT_FLOOR = 0.02


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The part of a message that is quoted: its place, the text, and its tokens, line included."""

    index: int
    text: str
    tokens: int


def fill_with_excerpts(
    request: Request,
    values: NDArray[np.float64],
    answer: Relevance | None,
    places: NDArray[np.int64],
    worth: NDArray[np.float64],
    chosen: Sequence[Atom],
    room: int,
    *,
    in_block: bool,
) -> tuple[Excerpt, ...]:
    """Excerpts of the most relevant long messages that were not chosen, as far as the room goes.

    Args:
        values: relevance of every finished message.
        answer: what the index said; its question gives the terms that matter.
        places: places of the candidates among the atoms, and their ``worth``.
        chosen: atoms that were taken whole.
        room: tokens that the choice left over.
        in_block: whether the head of the quoted block is paid for already.
    """
    room -= 0 if in_block and chosen else BLOCK_TOKENS
    if answer is None or room < _EXCERPT_LEAST_ROOM + EXCERPT_LINE_TOKENS or not len(places):
        return ()
    tokens = request.transcript.atom_tokens.view()[places]
    long = (tokens > _EXCERPT_LEAST_TOKENS) & (worth >= _EXCERPT_FLOOR * worth.max())
    if not long.any():
        return ()
    weights = dict(answer.profile.weights)
    whole = {a.first for a in chosen}
    found: list[Excerpt] = []
    tried = 0
    for k in np.flatnonzero(long)[np.argsort(-worth[long], kind="stable")].tolist():
        atom = request.transcript.atoms[places[k]]
        if atom.first in whole:
            continue
        tried += 1
        excerpt = _excerpt_of(request, atom, values, weights, room)
        if excerpt is not None:
            found.append(excerpt)
            room -= excerpt.tokens
        if tried == _EXCERPT_CANDIDATES or room < _EXCERPT_LEAST_ROOM + EXCERPT_LINE_TOKENS:
            break
    return tuple(sorted(found, key=lambda e: e.index))


def _excerpt_of(
    request: Request,
    atom: Atom,
    values: NDArray[np.float64],
    weights: Mapping[str, float],
    room: int,
) -> Excerpt | None:
    """The part that matters of an atom's most relevant message."""
    place = max(atom.indices, key=lambda i: (values[i], -i))
    if request.entries[place].tokens <= _EXCERPT_LEAST_TOKENS:
        return None
    count = request.counter.count_batch
    most = min(room - EXCERPT_LINE_TOKENS, _EXCERPT_MOST_TOKENS)
    text = cut_excerpt(spoken_text(request.messages[place]), weights, _terms_of, count, most)
    if text is None:
        return None
    return Excerpt(place, text, count([text])[0] + EXCERPT_LINE_TOKENS)


def _terms_of(text: str) -> Iterable[str]:
    return (term for entry in look_up_words(split_words(text)) for term in entry.terms)
