"""Scoring strategies behind one protocol: every one gives relevance in [0, 1] per message."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from eunoe.stages.scoring.analysis import TextAnalysis
from eunoe.stages.scoring.cues import CUE_RECALL
from eunoe.stages.scoring.index import RelevanceIndex
from eunoe.stages.scoring.profile import cues_of

SCORER_KEYWORD_FLOOR = 0.1
SCORER_SMART_FLOOR = 0.05
SCORER_PAIR_COHERENCE = 0.8
SCORER_TOOL_PENALTY = 0.5
SCORER_UNKNOWN = 0.5
"""Value of a message of which a model says nothing."""

_SCORER_USER = 1
_SCORER_ASSISTANT = 2
_SCORER_TOOL = 3


class ScorerOpinions(NamedTuple):
    """What models said of the messages, each of shape (n,) with NaN for nothing, or None.

    Attributes:
        likeness: Cosine of each with the question.
        labels: Worth of each, in [0, 1].
    """

    likeness: NDArray[np.float64] | None = None
    labels: NDArray[np.float64] | None = None


class Scorer(Protocol):
    """A way to say how much each message matters to a question."""

    @property
    def name(self) -> str:
        """Short name for reports."""
        ...

    def score(
        self,
        index: RelevanceIndex,
        query: TextAnalysis,
        *,
        upto: int | None = None,
        said: ScorerOpinions | None = None,
    ) -> NDArray[np.float64]:
        """Values in [0, 1] of the messages [0, upto), shape (upto,).

        Args:
            index: The messages.
            query: The question.
            upto: Messages that count, all by default.
            said: What models said of them, if any was asked.
        """
        ...


def keyword_relevance(bm25: NDArray[np.float64], floor: float) -> NDArray[np.float64]:
    """``max(floor, bm25/max)``; all 1 when nothing matches."""
    top = float(bm25.max(initial=0.0))
    return np.asarray(np.maximum(floor, bm25 / top)) if top > 0.0 else np.ones(bm25.shape)


def pair_coherence(
    values: NDArray[np.float64], roles: NDArray[np.int8], share: float
) -> NDArray[np.float64]:
    """Question and answer pull each other up to `share` of the other's value.

    Only an assistant message directly after a user message is a pair.

    Args:
        values: Relevance, shape (n,).
        roles: 1 user, 2 assistant, 3 tool, shape (n,).
        share: In [0, 1].
    """
    out = values.copy()
    pair = np.flatnonzero((roles[:-1] == _SCORER_USER) & (roles[1:] == _SCORER_ASSISTANT))
    out[pair + 1] = np.maximum(values[pair + 1], share * values[pair])
    out[pair] = np.maximum(values[pair], share * values[pair + 1])
    return out


@dataclass(frozen=True, slots=True)
class StaticScorer:
    """The same values whatever is asked, 1 where none is given."""

    values: tuple[float, ...] = ()
    name: str = "static"

    def score(
        self,
        index: RelevanceIndex,
        query: TextAnalysis,
        *,
        upto: int | None = None,
        said: ScorerOpinions | None = None,
    ) -> NDArray[np.float64]:
        """See `Scorer`."""
        del query, said
        out = np.ones(index.turns(upto).shape)
        given = np.clip(np.array(self.values[: out.size], dtype=np.float64), 0.0, 1.0)
        out[: given.size] = given
        return out


@dataclass(frozen=True, slots=True)
class KeywordScorer:
    """BM25 over its maximum."""

    floor: float = SCORER_KEYWORD_FLOOR
    name: str = "keyword"

    def score(
        self,
        index: RelevanceIndex,
        query: TextAnalysis,
        *,
        upto: int | None = None,
        said: ScorerOpinions | None = None,
    ) -> NDArray[np.float64]:
        """See `Scorer`."""
        return keyword_relevance(index.bm25(query, upto=upto), self.floor)


@dataclass(frozen=True, slots=True)
class SmartScorer:
    """Keyword, then pair coherence, then a penalty for tool messages."""

    floor: float = SCORER_SMART_FLOOR
    coherence: float = SCORER_PAIR_COHERENCE
    tool_penalty: float = SCORER_TOOL_PENALTY
    name: str = "smart"

    def score(
        self,
        index: RelevanceIndex,
        query: TextAnalysis,
        *,
        upto: int | None = None,
        said: ScorerOpinions | None = None,
    ) -> NDArray[np.float64]:
        """See `Scorer`."""
        roles = index.roles(upto)
        values = keyword_relevance(index.bm25(query, upto=upto), self.floor)
        values = pair_coherence(values, roles, self.coherence)
        return np.asarray(
            np.minimum(1.0, values * np.where(roles == _SCORER_TOOL, self.tool_penalty, 1.0))
        )


@dataclass(frozen=True, slots=True)
class RelevanceScorer:
    """The relevance index, the default."""

    name: str = "relevance"

    def score(
        self,
        index: RelevanceIndex,
        query: TextAnalysis,
        *,
        upto: int | None = None,
        said: ScorerOpinions | None = None,
    ) -> NDArray[np.float64]:
        """See `Scorer`."""
        likeness, labels = said if said is not None else (None, None)
        return index.relevance(query, upto=upto, likeness=likeness, labels=labels).values


@dataclass(frozen=True, slots=True)
class EmbeddingScorer:
    """Likeness of meaning: ``(1 + cosine)/2`` over its maximum, as lethes has it.

    All 1 where no embedder was asked; 0.5 for a message that has no vector yet.
    """

    floor: float = SCORER_SMART_FLOOR
    name: str = "embedding"

    def score(
        self,
        index: RelevanceIndex,
        query: TextAnalysis,
        *,
        upto: int | None = None,
        said: ScorerOpinions | None = None,
    ) -> NDArray[np.float64]:
        """See `Scorer`."""
        del query
        return _rated(said.likeness if said else None, index.turns(upto).size, self._rate)

    def _rate(self, likeness: NDArray[np.float64]) -> NDArray[np.float64]:
        known = np.isfinite(likeness)
        if not known.any():
            return np.ones(known.shape)
        affine = (1.0 + np.clip(np.where(known, likeness, 0.0), -1.0, 1.0)) / 2.0
        top = float(affine[known].max())
        scaled = np.maximum(self.floor, affine / top) if top > 0.0 else np.ones(known.shape)
        return np.where(known, scaled, SCORER_UNKNOWN)


@dataclass(frozen=True, slots=True)
class LabelScorer:
    """Labels K, H, M, S, D of a model: 1, 0.75, 0.5, 0.25, 0.05; 0.5 for what has none.

    All 1 where no model was asked.
    """

    name: str = "labels"

    def score(
        self,
        index: RelevanceIndex,
        query: TextAnalysis,
        *,
        upto: int | None = None,
        said: ScorerOpinions | None = None,
    ) -> NDArray[np.float64]:
        """See `Scorer`."""
        del query
        return _rated(said.labels if said else None, index.turns(upto).size, self._rate)

    def _rate(self, labels: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.clip(np.nan_to_num(labels, nan=SCORER_UNKNOWN), 0.0, 1.0)


@dataclass(frozen=True, slots=True)
class CompositeScorer:
    """Weighted mean of other scorers; one that says the same of every message is left out."""

    scorers: Sequence[Scorer]
    weights: Sequence[float] = field(default=())
    name: str = "composite"

    def score(
        self,
        index: RelevanceIndex,
        query: TextAnalysis,
        *,
        upto: int | None = None,
        said: ScorerOpinions | None = None,
    ) -> NDArray[np.float64]:
        """See `Scorer`."""
        weights = self.weights or (1.0,) * len(self.scorers)
        total = 0.0
        out = np.zeros(index.turns(upto).shape)
        for scorer, weight in zip(self.scorers, weights, strict=True):
            values = scorer.score(index, query, upto=upto, said=said)
            if values.size and float(np.ptp(values)) > 0.0 and weight > 0.0:
                out += weight * values
                total += weight
        return np.asarray(out / total) if total > 0.0 else np.ones(out.shape)


@dataclass(frozen=True, slots=True)
class DecayScorer:
    """Another scorer with bounded forgetting, off when the question points back or names a date.

    ``r * (floor + (1-floor) rate**age)`` with the age in turns.
    """

    inner: Scorer
    rate: float = 0.98
    floor: float = 0.5
    name: str = "decay"

    def score(
        self,
        index: RelevanceIndex,
        query: TextAnalysis,
        *,
        upto: int | None = None,
        said: ScorerOpinions | None = None,
    ) -> NDArray[np.float64]:
        """See `Scorer`."""
        values = self.inner.score(index, query, upto=upto, said=said)
        turns = index.turns(upto)
        if not turns.size or query.dates or cues_of(query) & CUE_RECALL:
            return values
        age = np.maximum(0, int(turns[-1]) - turns)
        return np.asarray(values * (self.floor + (1.0 - self.floor) * self.rate**age))


def _rated(
    opinions: NDArray[np.float64] | None,
    size: int,
    rate: Callable[[NDArray[np.float64]], NDArray[np.float64]],
) -> NDArray[np.float64]:
    """What was said of the first messages, made values; all 1 where no model was asked."""
    return np.ones(size) if opinions is None else rate(opinions[:size])
