"""The relevance index: append messages, ask for the relevance of all of them to a question.

Everything that depends on the question is computed when it is asked, from term postings kept in
growing integer arrays, so an index built message by message equals one built at once.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from eunoe.stages.scoring.analysis import TextAnalysis
from eunoe.stages.scoring.signals import bm25_column, inverse_frequency, shift_column


@dataclass(frozen=True, slots=True)
class ScoringSettings:
    """Constants of scoring.

    Attributes:
        k1: BM25 saturation.
        b: BM25 length normalisation.
        max_terms: Terms of the question that are used (the rarest).
        segment_gap: Minutes of silence that start a new segment.
        segment_size: Messages of a segment where nothing is dated.
    """

    k1: float = 1.2
    b: float = 0.75
    max_terms: int = 64
    segment_gap: int = 240
    segment_size: int = 24


@dataclass(frozen=True, slots=True)
class Relevance:
    """Answer of the index.

    Attributes:
        values: Relevance in [0, 1], shape (n,).
        signals: Named arrays behind it, each of shape (n,).
    """

    values: NDArray[np.float64]
    signals: dict[str, NDArray[np.float64]] = field(default_factory=dict)


class RelevanceIndex:
    """Postings and facts of the messages of one conversation."""

    def __init__(self, settings: ScoringSettings | None = None) -> None:
        self.settings = settings or ScoringSettings()
        self.vocab: dict[str, int] = {}
        self.docs: list[array[int]] = []
        self.tfs: list[array[int]] = []
        self.analyses: list[TextAnalysis] = []
        self.length = array("i")
        self.tokens = array("i")
        self.turn = array("i")
        self.segment = array("i")
        self.stamp = array("q")
        self.speaker = array("i")
        self.speakers: dict[str, int] = {}
        self._segment_count = 0
        self._segment_dated = False

    def __len__(self) -> int:
        return len(self.length)

    def append(self, analysis: TextAnalysis, *, turn: int, tokens: int) -> None:
        """Add the next message; cost is linear in its terms.

        Args:
            analysis: Its analysis.
            turn: Number of its turn.
            tokens: Its cost.
        """
        i = len(self.length)
        for term, count in zip(analysis.terms, analysis.counts, strict=True):
            k = self.vocab.setdefault(term, len(self.docs))
            if k == len(self.docs):
                self.docs.append(array("i"))
                self.tfs.append(array("i"))
            self.docs[k].append(i)
            self.tfs[k].append(count)
        stamp = analysis.stamp or (self.stamp[-1] if i else 0)
        new = i == 0
        if i and analysis.stamp:
            new = abs(stamp - self.stamp[-1]) > self.settings.segment_gap
        elif i:
            new = (
                self._segment_count >= self.settings.segment_size
                and analysis.role == "user"
                and not self._segment_dated
            )
        if new:
            self._segment_count = 0
            self._segment_dated = bool(analysis.stamp)
        self._segment_count += 1
        last = self.segment[-1] if i else -1
        self.segment.append(last + 1 if new else last)
        self.stamp.append(stamp)
        self.length.append(analysis.length)
        self.tokens.append(tokens)
        self.turn.append(turn)
        who = analysis.speaker or analysis.role
        self.speaker.append(self.speakers.setdefault(who, len(self.speakers)))
        self.analyses.append(analysis)

    def relevance(self, query: TextAnalysis, *, upto: int | None = None) -> Relevance:
        """Relevance of the messages [0, upto) to a question."""
        n = len(self) if upto is None else min(upto, len(self))
        ids = [k for k in (self.vocab.get(t) for t in query.terms) if k is not None]
        if not n or not ids:
            return Relevance(np.zeros(n), {})
        frequency = np.zeros((len(ids), n))
        holders = np.zeros(len(ids))
        for row, k in enumerate(ids):
            docs = np.array(self.docs[k])
            cut = int(np.searchsorted(docs, n))
            frequency[row, docs[:cut]] = np.array(self.tfs[k])[:cut]
            holders[row] = cut
        idf = inverse_frequency(holders, n)
        total = float(idf.sum())
        length = np.array(self.length[:n], dtype=np.float64)
        segment = np.array(self.segment[:n], dtype=np.int64)
        own = bm25_column(frequency, length, idf, self.settings.k1, self.settings.b)
        near = frequency + sum(shift_column(frequency, s, segment) for s in (-2, -1, 1, 2))
        cover = idf @ (near > 0) / total
        starts = np.r_[0, np.flatnonzero(np.diff(segment)) + 1]
        of_segment = (idf @ (np.add.reduceat(frequency, starts, axis=1) > 0) / total)[segment]
        hits = np.log1p((frequency > 0).sum(axis=0))
        score = 0.15 * own + 2.0 * cover + 1.5 * of_segment + 1.6 * hits
        values = 1.0 / (1.0 + np.exp(6.0 - score))
        return Relevance(values * (own + cover > 0), {"bm25": own, "near": cover, "segment": of_segment})
