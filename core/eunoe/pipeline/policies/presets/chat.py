"""What a preset looks at, and what it decides: plain values, so that presets are pure functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from eunoe.domain.certificate import BY_RECENCY, Certificate, NoCertificate
from eunoe.pipeline.advisers.structuring import NamesOf, StancesOf
from eunoe.stages.scoring.analysis import TextAnalysis
from eunoe.stages.scoring.cues import CUE_RECALL
from eunoe.stages.scoring.lexical import question_cosine, smooth_frequency, unit_weights
from eunoe.stages.scoring.profile import cues_of
from eunoe.stages.scoring.term_rows import TermMatrix

FloatColumn = NDArray[np.float64]
PlaceColumn = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class PresetChat:
    """The finished turns of a chat, the question, and the room for atoms.

    Attributes:
        analyses: terms and entities of each message, n of them.
        query: those of the question.
        matrix: term counts of the messages, n rows.
        asked: term counts of the question, shape (width,).
        kinds: ``ADJUST_*`` kind of each message, shape (n,).
        turn: turn number of each message, from 0, ascending, shape (n,).
        base: base weight of each message, 1 unless a flag says otherwise, shape (n,).
        holder: which atom holds each message, shape (n,).
        first: first message of each atom, shape (m,).
        cost: tokens of each atom, shape (m,).
        open: atoms that may be chosen, shape (m,); system messages and what flags decide are not.
        room: tokens for the chosen atoms.
        likeness: cosine of each message's embedding with the question's, NaN where there is none,
            shape (n,); None without embeddings.
        pinned: atoms that a flag keeps; their tokens are not in the room.
        pair_coherence, tool_penalty: what the user asked for; None leaves it to the preset.
        fallback_turns: turns to send where nothing speaks to the question.
        max_candidates: atoms that an expensive step looks at.
        first_sentences: the first sentence of some messages; empty where it is all of the message.
        count_batch: tokens of some texts.
        find_names: names that an extractor finds in some messages, folded; None without one. The
            place n stands for the question.
        judge: stances of some pairs of messages, None where nothing is known; None without a judge.
    """

    analyses: Sequence[TextAnalysis]
    query: TextAnalysis
    matrix: TermMatrix
    asked: FloatColumn
    kinds: NDArray[np.int8]
    turn: PlaceColumn
    base: FloatColumn
    holder: PlaceColumn
    first: PlaceColumn
    cost: PlaceColumn
    open: NDArray[np.bool_]
    room: int
    likeness: FloatColumn | None = None
    pinned: frozenset[int] = frozenset()
    pair_coherence: float | None = None
    tool_penalty: float | None = None
    fallback_turns: int = 3
    max_candidates: int = 500
    first_sentences: Callable[[Sequence[int]], list[str]] = lambda places: [""] * len(places)
    count_batch: Callable[[Sequence[str]], Sequence[int]] = lambda texts: [len(t) for t in texts]
    find_names: NamesOf | None = None
    judge: StancesOf | None = None

    @property
    def size(self) -> int:
        """The number of messages, n."""
        return len(self.analyses)

    @property
    def turns(self) -> int:
        """The number of finished turns."""
        return int(self.turn[-1]) + 1 if self.turn.size else 0

    @cached_property
    def idf(self) -> FloatColumn:
        """Weight of each term by its rarity among messages, shape (width,)."""
        return smooth_frequency(self.matrix)

    @cached_property
    def weights(self) -> FloatColumn:
        """TF-IDF weights of the messages as unit rows, shape (nnz,)."""
        return unit_weights(self.matrix, self.idf)

    @cached_property
    def cosine(self) -> FloatColumn:
        """Cosine of each message with the question, in [0, 1], shape (n,).

        Of embeddings where most messages have one (others count as the mean), else of words.
        """
        known = embedded_cosine(self.likeness)
        if known is not None:
            return known
        return question_cosine(self.matrix, self.weights, self.idf, self.asked)

    @cached_property
    def turn_cosine(self) -> FloatColumn:
        """Cosine of each turn with the question, shape (turns,).

        Of the turn read as one text; with embeddings, that of its nearest message.
        """
        known = embedded_cosine(self.likeness)
        if known is not None:
            nearest = np.zeros(self.turns)
            np.maximum.at(nearest, self.turn, known)
            return nearest
        joined = self.matrix.joined(self.turn)
        idf = smooth_frequency(joined)
        return question_cosine(joined, unit_weights(joined, idf), idf, self.asked)

    @cached_property
    def entities(self) -> list[tuple[str, ...]]:
        """Entities of each message and, last, of the question; an extractor's after our own."""
        own = [analysis.entities for analysis in (*self.analyses, self.query)]
        if self.find_names is None:
            return own
        found = self.find_names(range(self.size + 1))
        return [tuple(dict.fromkeys((*a, *b))) for a, b in zip(own, found, strict=True)]

    @cached_property
    def points_back(self) -> bool:
        """Whether the question points back or names a date, so that age plays no part."""
        return bool(self.query.dates) or bool(cues_of(self.query) & CUE_RECALL)

    @cached_property
    def turn_base(self) -> FloatColumn:
        """Base weight of each turn, the product of its messages', shape (turns,)."""
        out = np.ones(self.turns)
        np.multiply.at(out, self.turn, self.base)
        return out

    @cached_property
    def turn_of_atom(self) -> PlaceColumn:
        """Turn number of each atom, shape (m,)."""
        return np.asarray(self.turn[self.first])

    def per_atom(self, values: FloatColumn) -> FloatColumn:
        """The best value among the messages of each atom, shape (m,)."""
        out = np.zeros(self.first.size)
        np.maximum.at(out, self.holder, values)
        return out

    def atoms_of_turn(self, turn: int) -> list[int]:
        """The atoms of a turn that may be chosen, in order."""
        return np.flatnonzero(self.open & (self.turn_of_atom == turn)).tolist()


def entity_mentions(entities: Sequence[Sequence[str]]) -> dict[str, list[int]]:
    """Which messages mention each entity, ascending."""
    found: dict[str, list[int]] = {}
    for i, names in enumerate(entities):
        for name in names:
            found.setdefault(name, []).append(i)
    return found


def embedded_cosine(likeness: FloatColumn | None) -> FloatColumn | None:
    """Likeness clipped to [0, 1], the mean where it is unknown; None if more than half is."""
    if likeness is None or not likeness.size:
        return None
    known = np.isfinite(likeness)
    if 2 * int(known.sum()) <= likeness.size:
        return None
    bounded = np.clip(np.where(known, likeness, 0.0), 0.0, 1.0)
    return np.where(known, bounded, bounded[known].mean())


@dataclass(frozen=True, kw_only=True)
class PresetPlan:
    """What a preset decided.

    Attributes:
        chosen: atoms, ascending.
        values: how much each message matters, in [0, 1], for the report, shape (n,).
        reason: one clause for people.
        certificate: of the selection, or why there is none.
        gists: messages shown by their first sentence only, in the quoted block.
        head, tail: atoms at the head and the tail of the block, for presets that have one; the rest
            stands between by falling relevance.
    """

    chosen: tuple[int, ...]
    values: FloatColumn
    reason: str
    certificate: Certificate | NoCertificate = BY_RECENCY
    gists: dict[int, str] = field(default_factory=dict)
    head: frozenset[int] = frozenset()
    tail: frozenset[int] = frozenset()
