"""What the words of a question find: parts of the log-odds, one column each."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from eunoe.stages.scoring.concepts import concepts_of
from eunoe.stages.scoring.postings import TermHits, TermPostings
from eunoe.stages.scoring.profile import QueryProfile, meta_share
from eunoe.stages.scoring.settings import ScoringSettings
from eunoe.stages.scoring.signals import (
    Surroundings,
    inverse_frequency,
    length_norm,
    nearby_presence,
    same_segment,
    segment_starts,
    term_presence,
)

EVIDENCE_IDF_UNIT = 5.0
"""Sums of idf are divided by this, about the idf of a word in one message of two hundred."""

EVIDENCE_PASSAGE = 60
"""Terms of a passage that is quoted of a long message."""

_EVIDENCE_GRID = 1 << 17


class EvidenceView:
    """The messages [0, n) as evidence sees them.

    Args:
        postings: Terms of the messages.
        settings: Constants.
        length: Terms per message, shape (n,).
        segment: Segment number of each message, shape (n,), n >= 1.
        norm: ``length_norm(length, k1, b, mean_length)``, when it is at hand.

    Attributes:
        same: `same_segment` for 1 and for 2 steps.
        starts: `segment_starts` of the segments.
    """

    def __init__(
        self,
        postings: TermPostings,
        settings: ScoringSettings,
        length: NDArray[np.float64],
        segment: NDArray[np.int64],
        norm: NDArray[np.float64] | None = None,
    ) -> None:
        s = settings
        self.settings = s
        self.size = int(length.shape[0])
        self.segment = segment
        self.same = (same_segment(segment, 1), same_segment(segment, 2))
        self.norm = length_norm(length, s.k1, s.b, s.mean_length) if norm is None else norm
        self.postings = postings
        self._length = length
        self.starts = segment_starts(segment)
        self._around: Surroundings | None = None
        self._place: dict[str, int] = {}
        self._idf: list[float] = []
        self._hits = TermHits((), np.zeros(0, dtype=np.int64), np.zeros(0))

    @property
    def surroundings(self) -> Surroundings:
        """Windows around each message."""
        if self._around is None:
            s, starts = self.settings, self.starts
            self._around = Surroundings(
                self.segment, self._length, reach=s.reach, k1=s.k1, b=s.b, starts=starts
            )
        return self._around

    def ask(self, terms: Sequence[str]) -> None:
        """Look up the terms of a question, and the groups that they belong to."""
        groups = [group for term in terms for group in concepts_of(term)]
        asked = list(dict.fromkeys((*terms, *groups)))
        hits = self.postings.gather(asked, self.size)
        parts = np.minimum(1.0, self.settings.k1 / self.norm.take(hits.messages))
        holders = [
            float(np.add.reduce(parts[start:end])) if end > start else 0.0
            for start, end in pairwise((0, *hits.ends))
        ]
        found = inverse_frequency(np.array(holders), self.size).tolist()
        self._place = {term: place for place, term in enumerate(asked)}
        self._hits = hits
        self._idf = [idf if held > 0.0 else 0.0 for idf, held in zip(found, holders, strict=True)]

    def idf(self, term: str) -> float:
        """Inverse frequency of a term or group that was asked for, 0 if unknown.

        A message longer than usual counts as a part of a holder only: in a long text a common
        word says nothing about the word.
        """
        return self._idf[self._place[term]]

    def reach(self, term: str) -> tuple[int, int]:
        """First and last message that hold a term or group that was asked for; (n, -1) for none."""
        held = self._hits.messages[self._hits.span(self._place[term])]
        return (int(held[0]), int(held[-1])) if held.size else (self.size, -1)

    def grids(self, terms: Sequence[str]) -> Iterator[tuple[slice, NDArray[np.float64]]]:
        """How often each message holds each term, a few terms at a time.

        Args:
            terms: Some of the terms and groups that were asked for.

        Yields:
            Which of the terms, and counts of shape (terms, n).
        """
        hits, step = self._hits, max(1, _EVIDENCE_GRID // max(1, self.size))
        for start in range(0, len(terms), step):
            taken = terms[start : start + step]
            grid = np.zeros((len(taken), self.size))
            for row, term in enumerate(taken):
                span = hits.span(self._place[term])
                grid[row, hits.messages[span]] = hits.counts[span]
            yield slice(start, start + len(taken)), grid


def term_parts(view: EvidenceView, profile: QueryProfile) -> dict[str, NDArray[np.float64]]:
    """Columns ``nearby``, ``hits``, ``around`` and ``segment`` (see `SignalWeights`).

    Args:
        view: The messages, asked for the terms of the question.
        profile: The question; without known terms the answer is empty.
    """
    total = sum(weight for _, weight in profile.weights)
    if total <= 0.0:
        return {}
    n, s = view.size, view.settings
    near, hits, around = np.zeros(n), np.zeros(n), np.zeros(n)
    number = view.segment - view.segment[0]
    seen = np.zeros(view.starts.size)
    idf = np.array([weight for _, weight in profile.weights])
    for taken, counts in view.grids([term for term, _ in profile.weights]):
        weight = idf[taken, np.newaxis]
        share = weight / total
        presence = term_presence(counts, view.norm)
        _add_rows(hits, presence)
        _add_rows(near, nearby_presence(presence, view.same, s.near), weight)
        _add_rows(around, view.surroundings.presence(counts), share)
        _add_rows(seen, (np.maximum.reduceat(counts, view.starts, axis=1) > 0.0) * share)
    w = s.weights
    return {
        "nearby": (w.nearby / EVIDENCE_IDF_UNIT) * near,
        "hits": w.hits * np.log1p(hits),
        "around": w.around * around,
        "segment": w.segment * seen[number],
    }


def _add_rows(
    column: NDArray[np.float64],
    grid: NDArray[np.float64],
    weight: NDArray[np.float64] | None = None,
) -> None:
    """Add rows, each times its weight, to a column; the grid is used up.

    One after another, so that it does not matter how they come in grids.
    """
    if weight is not None:
        grid *= weight
    for row in grid:
        column += row


def group_parts(view: EvidenceView, profile: QueryProfile) -> dict[str, NDArray[np.float64]]:
    """Columns ``kind`` and ``kind_around`` of the thesaurus groups of the question.

    Args:
        view: The messages, asked for the terms of the question.
        profile: The question; words about the chat itself ask for no group.
    """
    asked = [t for t, _ in profile.weights if meta_share(t, profile.cues, profile.kind) == 1.0]
    terms = (*asked, *profile.unknown)
    groups = dict.fromkeys(group for term in terms for group in concepts_of(term))
    kept = sorted((-view.idf(group), group) for group in groups if view.idf(group) > 0.0)
    kept = kept[: view.settings.max_groups]
    if not kept:
        return {}
    n = view.size
    total = -sum(negative for negative, _ in kept)
    own, around = np.zeros(n), np.zeros(n)
    idf = np.array([-negative for negative, _ in kept])
    for taken, counts in view.grids([group for _, group in kept]):
        weight = idf[taken, np.newaxis]
        _add_rows(own, term_presence(counts, view.norm), weight / total)
        _add_rows(around, view.surroundings.presence(counts), weight)
    w = view.settings.weights
    return {
        "kind": w.kind * own,
        "kind_around": (w.kind_around / EVIDENCE_IDF_UNIT) * around,
    }


def passage_gain(settings: ScoringSettings, weights: Sequence[float], length: int) -> float:
    """What words add to the log-odds if they stand in a passage, not in a text of this length.

    Args:
        settings: Constants.
        weights: Of the words of a question that the text holds, each once.
        length: Terms of the text.
    """
    sizes = np.array([min(length, EVIDENCE_PASSAGE), length], dtype=np.float64)
    norms = length_norm(sizes, settings.k1, settings.b, settings.mean_length)
    short, long = (1.0 / (1.0 + norms)).tolist()
    near = settings.weights.nearby / EVIDENCE_IDF_UNIT * sum(weights) * (short - long)
    many = len(weights)
    hits = settings.weights.hits * math.log((1.0 + many * short) / (1.0 + many * long))
    return float(near + hits)
