"""The recall gate: does the window in view lack what the question needs?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from eunoe.stages.scoring.analysis import TextAnalysis
from eunoe.stages.scoring.cues import (
    CUE_FOLLOW_UP,
    CUE_ORDER,
    CUE_RECALL,
    CUE_SUMMARY,
    CUE_WANTS,
)
from eunoe.stages.scoring.index import RelevanceIndex
from eunoe.stages.scoring.profile import Relevance, cues_of
from eunoe.stages.scoring.vectors import beyond_chance

GATE_FLOOR = 0.05
GATE_SHORT_WORDS = 20
GATE_NAME_WORDS = 25
GATE_SURE_SCORE = 2.3
GATE_MEANING_LEAD = 1.0
"""Standard deviations of likeness by which a message out of view must lead all those in view."""
GATE_RELEVANT = 0.5
"""Relevance from which on a message out of view speaks for itself,"""
GATE_RELEVANCE_LEAD = 3.0
"""and how many times that of all those in view it must be."""
GATE_NEAR_DAY = math.exp(-1.0)
"""Closeness to a day that a question names, from which on a message is of that time."""


@dataclass(frozen=True, slots=True)
class WindowCoverage:
    """How well the messages in view answer a question, beside those out of view.

    Attributes:
        inside: Share of the question's weight (idf) that occurs in the window, 0 to 1.
        outside: Share that occurs before the window.
        missing: Share that occurs before the window only.
        best_inside: Largest share that one message and its neighbours hold, in the window.
        best_outside: The same before the window.
        missing_names: Identifiers, paths and codes of the question found before the window only.
        words: Written words of the question (a third of its n-grams for scripts without spaces).
        asks: Whether it is a question.
        recalls: Whether it points back at the chat ("earlier", "as we discussed", "之前").
        follows: Whether it goes on with what is in view ("ok, and ...", "thanks, ...").
        wants: Whether it wants something of before without asking ("tell me the port", "the column
            that you prepared", "she asks which form").
        lead: By how many standard deviations the likeness in meaning of the best message before the
            window exceeds that of the best one in it; without embeddings minus infinity, as where
            the best one before it is no better than the best of so many random ones.
        relevant_outside: Relevance of the most relevant message before the window, 0 to 1.
        relevant_inside: The same in the window.
        people: Whether it names one of those who speak in this chat.
        dated: Whether messages before the window are nearer to a day that it names.
        whole: Whether it is about the chat as a whole ("the order in which I brought these up").
    """

    inside: float
    outside: float
    missing: float
    best_inside: float
    best_outside: float
    missing_names: tuple[str, ...]
    words: int
    asks: bool
    recalls: bool
    follows: bool
    wants: bool = False
    lead: float = -math.inf
    relevant_outside: float = 0.0
    relevant_inside: float = 0.0
    people: bool = False
    dated: bool = False
    whole: bool = False

    @property
    def score(self) -> float:
        """``1.5 + 3 ln(best_outside/best_inside) + [recalls] - 2 [follows] - 4.5 (words-20)+/20``.

        Both shares are floored by adding 0.05. A long message brings its own context and a
        follow-up has it in view, so they must find much more outside than inside; a question that
        points back needs less.
        """
        ratio = (self.best_outside + GATE_FLOOR) / (self.best_inside + GATE_FLOOR)
        surplus = max(0, self.words - GATE_SHORT_WORDS) / GATE_SHORT_WORDS
        return 1.5 + 3.0 * math.log(ratio) + 1.0 * self.recalls - 2.0 * self.follows - 4.5 * surplus

    @property
    def open(self) -> bool:
        """Whether recall should look before the window.

        Statements ("thanks, next", a task of its own) open it only when they point back, when they
        want something that is better known before the window, or when they are short and hold an
        identifier that only messages before the window know.
        """
        opened = self._open_by_words or self.by_subject
        return opened or self.by_meaning or self.by_relevance

    @property
    def by_subject(self) -> bool:
        """Whether a day or a person that a short question names opens it, though no word does.

        "Where was Ann on 31 December?" and "Is Ann vegan?" may share no word with the answer. A
        question about one of those who speak is about this chat.
        """
        if self._open_by_words or self.follows or self.words > GATE_NAME_WORDS or not self.asks:
            return False
        return self.dated or (self.people and self.relevant_outside > self.relevant_inside)

    @property
    def by_whole(self) -> bool:
        """Whether it is about the whole chat, of which the window is a part, however well it fits.

        "In which order did I bring these up?" names many things, some of which are in view.
        """
        return self.whole and self.best_outside > 0.0

    @property
    def relevance_leads(self) -> bool:
        """Whether it is short, and nothing in view comes near in relevance to what is not."""
        return (
            self.words <= GATE_NAME_WORDS
            and self.relevant_outside >= GATE_RELEVANT
            and self.relevant_outside >= GATE_RELEVANCE_LEAD * self.relevant_inside
        )

    @property
    def by_relevance(self) -> bool:
        """Whether relevance alone opens it.

        Also for what only tells of a question ("she asks for the colours"), or begins with thanks.
        """
        return self.relevance_leads and not (self._open_by_words or self.by_subject)

    @property
    def by_meaning(self) -> bool:
        """Whether likeness in meaning alone opens it: for a short question, or a wish.

        It does not for what goes on with what is in view: that resembles much, and needs nothing.
        """
        if self._open_by_words or self.by_subject or self.follows or self.words > GATE_NAME_WORDS:
            return False
        return self.lead >= GATE_MEANING_LEAD and (self.asks or self.recalls or self.wants)

    @property
    def _open_by_words(self) -> bool:
        if self.best_outside <= 0.0:
            return False
        if self.by_whole:
            return True
        if self.asks or self.recalls:
            return self.score >= 0.0
        if self.words > GATE_NAME_WORDS:
            return False
        if self.missing_names:
            return self.score >= 0.0
        return self.wants and self.best_outside > self.best_inside and self.score >= 0.0

    @property
    def sure(self) -> bool:
        """Whether it points back, or finds far more outside: where a cut has carried much over."""
        return self.recalls or self.score >= GATE_SURE_SCORE or self.relevance_leads

    @property
    def plain(self) -> bool:
        """Whether it is a plain question, or points back, and words or a subject opened the gate.

        Statements, and questions that only meaning or relevance speaks for, are served in the free
        room.
        """
        return (self.asks or self.recalls) and not (self.by_meaning or self.by_relevance)


def window_coverage(
    index: RelevanceIndex,
    query: TextAnalysis,
    start: int,
    *,
    upto: int | None = None,
    relevance: Relevance | None = None,
    values: NDArray[np.float64] | None = None,
    carried: Sequence[int] = (),
) -> WindowCoverage:
    """Compare the window ``[start, upto)`` with the messages before it.

    Args:
        index: Index that holds the messages.
        query: Analysis of the question (not itself among the messages counted).
        start: First message in view.
        upto: Messages that count, all by default.
        relevance: Answer of the index for the same query and `upto`, when it is at hand.
        values: Relevance of each message, shape (upto,), where it was adjusted since.
        carried: Messages before the window that are in view all the same.
    """
    n = len(index) if upto is None else max(0, min(upto, len(index)))
    start = max(0, min(start, n))
    answer = index.relevance(query, upto=n) if relevance is None else relevance
    total = sum(weight for _, weight in answer.profile.weights)
    inside = outside = missing = 0.0
    absent: set[str] = set()
    seen = _terms_held(index, [term for term, _ in answer.profile.weights], carried, n)
    for term, weight in answer.profile.weights:
        first, last = answer.reaches[term]
        here = last >= start or term in seen
        inside += weight * here
        outside += weight * (first < start)
        missing += weight * (not here)
        if not here:
            absent.add(term)
    view = _Sight.of(n, start, carried)
    share = index.nearby_share(answer)
    cues = answer.profile.cues
    values = answer.values if values is None else values
    scale = 1.0 / total if total > 0.0 else 0.0
    return WindowCoverage(
        inside=inside * scale,
        outside=outside * scale,
        missing=missing * scale,
        best_inside=float(share[view.seen].max(initial=0.0)),
        best_outside=float(share[view.unseen].max(initial=0.0)),
        missing_names=tuple(
            name
            for name in query.entities
            if not name.replace(" ", "").isalpha() and index.knows_only(name, absent)
        ),
        words=max(query.words, query.length // 3),
        asks=query.asks,
        recalls=cues & CUE_RECALL != 0,
        follows=cues & CUE_FOLLOW_UP != 0,
        wants=cues & CUE_WANTS != 0,
        lead=_meaning_lead(index, answer, view),
        relevant_outside=float(values[view.unseen].max(initial=0.0)),
        relevant_inside=float(values[view.seen].max(initial=0.0)),
        people=answer.profile.people > 0,
        dated=_dated_before(index, answer, view),
        whole=_about_the_whole(cues),
    )


class _Sight(NamedTuple):
    """Which messages are in view and which are not, to index an array of them by."""

    seen: slice | NDArray[np.bool_]
    unseen: slice | NDArray[np.bool_]

    @classmethod
    def of(cls, size: int, start: int, carried: Sequence[int]) -> _Sight:
        if not carried:
            return cls(slice(start, size), slice(start))
        seen = np.arange(size) >= start
        seen[[place for place in carried if place < size]] = True
        return cls(seen, ~seen)


def _about_the_whole(cues: int) -> bool:
    """Whether cues ask for the order of a chat, or for all of it in short."""
    return cues & CUE_RECALL != 0 and cues & (CUE_ORDER | CUE_SUMMARY) != 0


def _dated_before(index: RelevanceIndex, answer: Relevance, view: _Sight) -> bool:
    part = answer.signals.get("date")
    if part is None:
        return False
    before = float(part[view.unseen].max(initial=0.0))
    least = GATE_NEAR_DAY * index.settings.weights.date
    return before >= least and before > float(part[view.seen].max(initial=0.0))


def _meaning_lead(index: RelevanceIndex, answer: Relevance, view: _Sight) -> float:
    part, weight = answer.signals.get("vector"), index.settings.weights.vector
    if part is None or weight <= 0.0:
        return -math.inf
    column = part / weight
    if not beyond_chance(column)[view.unseen].any():
        return -math.inf
    return float(column[view.unseen].max() - np.max(column[view.seen], initial=-math.inf))


def _terms_held(
    index: RelevanceIndex, terms: Sequence[str], carried: Sequence[int], upto: int
) -> set[str]:
    """The terms that some of the carried messages hold."""
    if not carried:
        return set()
    places = set(carried)
    holders = zip(terms, index.holders(terms, upto), strict=True)
    return {term for term, held in holders if not places.isdisjoint(held)}


GATE_MOST_WORDS = 72


def may_open(query: TextAnalysis, *, templated: bool = False) -> bool:
    """Whether the gate can open for this question at all, whatever the chat holds.

    Past ``GATE_MOST_WORDS`` words no coverage makes up for the surplus, but a question about the
    whole chat may be as long as it likes; a statement opens the gate only if it points back, or is
    short and no program wrote it: the output of a shell names much and wants nothing. False saves
    the scoring.
    """
    words = max(query.words, query.length // 3)
    if words <= GATE_NAME_WORDS and not templated:
        return True
    cues = cues_of(query)
    if words > GATE_MOST_WORDS:
        return _about_the_whole(cues)
    return query.asks or cues & CUE_RECALL != 0
