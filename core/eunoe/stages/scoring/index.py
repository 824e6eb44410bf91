"""The relevance index: append messages, ask for the relevance of all of them to a question.

Everything that depends on the question is computed when it is asked, from term postings kept in
growing integer arrays, so an index built message by message equals one built at once, and an answer
about the first n messages does not depend on later ones.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from datetime import date

import numpy as np
from numpy.typing import NDArray

from eunoe.stages.scoring.analysis import TextAnalysis
from eunoe.stages.scoring.concepts import concepts_of
from eunoe.stages.scoring.cues import CUE_ASSISTANT
from eunoe.stages.scoring.dates import day_span
from eunoe.stages.scoring.people import SpeakerRegister
from eunoe.stages.scoring.postings import TermPostings
from eunoe.stages.scoring.profile import QueryProfile, cues_of, kind_of, meta_share
from eunoe.stages.scoring.segments import SegmentTrack
from eunoe.stages.scoring.settings import ScoringSettings
from eunoe.stages.scoring.signals import (
    Surroundings,
    date_closeness,
    inverse_frequency,
    length_norm,
    nearby_presence,
    term_presence,
)
from eunoe.stages.scoring.words import MARK_FIRST_PERSON, look_up_word, split_words

_INDEX_IDF_UNIT = 5.0
_INDEX_ROLES = {"user": 1, "assistant": 2, "tool": 3, "function": 3}

_INDEX_FLAG_TIME = 2
_INDEX_FLAG_STANDING = 8
_INDEX_FLAG_FIRST = 16


@dataclass(frozen=True, slots=True)
class Relevance:
    """Answer of the index.

    Attributes:
        values: Relevance in [0, 1], shape (n,); 0 where nothing speaks for a message.
        signals: What each signal added to the log-odds, by name, each of shape (n,).
        profile: The question as it was understood.
    """

    values: NDArray[np.float64]
    signals: dict[str, NDArray[np.float64]]
    profile: QueryProfile


class RelevanceIndex:
    """Postings and facts of the messages of one conversation."""

    def __init__(self, settings: ScoringSettings | None = None) -> None:
        self.settings = settings or ScoringSettings()
        self._postings = TermPostings()
        self._people = SpeakerRegister()
        self._segments = SegmentTrack(self.settings.segment_gap, self.settings.segment_size)
        self._length = array("i")
        self._tokens = array("i")
        self._role = array("b")
        self._flags = array("i")
        self._vectors: list[NDArray[np.float32] | None] = []

    def __len__(self) -> int:
        return len(self._length)

    def append(
        self,
        analysis: TextAnalysis,
        *,
        turn: int,
        tokens: int,
        stamp: int = 0,
        vector: NDArray[np.float32] | None = None,
    ) -> None:
        """Add the next message; cost is linear in its terms.

        Args:
            analysis: Its analysis.
            turn: Number of its turn (kept for callers; not used by the default signals).
            tokens: Its cost in tokens.
            stamp: Its time in minutes since 1 January of year 1, when the host knows it; else the
                one in its text counts.
            vector: Its unit embedding, when there is one.
        """
        self._postings.append(analysis)
        self._people.append(analysis)
        self._segments.append(stamp or analysis.stamp, analysis.role)
        self._length.append(analysis.length)
        self._tokens.append(max(1, tokens))
        self._role.append(_INDEX_ROLES.get(analysis.role, 0))
        self._flags.append(
            _INDEX_FLAG_TIME * (analysis.times > 0)
            | _INDEX_FLAG_STANDING * analysis.standing
            | _INDEX_FLAG_FIRST * (analysis.marks & MARK_FIRST_PERSON != 0)
        )
        self._vectors.append(vector)

    def profile(self, query: TextAnalysis, *, upto: int | None = None) -> QueryProfile:
        """The question as it is understood against the messages [0, upto)."""
        n = self._bound(upto)
        named, name_terms = self._people.named(query, n)
        cues = cues_of(query)
        weights: list[tuple[str, float]] = []
        unknown: list[str] = []
        norm = self._norm(n)
        for term in query.terms:
            if term in name_terms:
                continue
            idf = self._idf(term, n, norm)
            if idf > 0.0:
                weights.append((term, idf * meta_share(term, cues)))
            else:
                unknown.append(term)
        weights.sort(key=lambda pair: -pair[1])
        known = {number: name for name, number in self._people.known(n).items()}
        return QueryProfile(
            weights=tuple(weights[: self.settings.max_terms]),
            unknown=tuple(unknown),
            asks=query.asks,
            kind=kind_of(query),
            cues=cues,
            speaker=known[named[0]] if len(named) == 1 else "",
            dates=query.dates,
            entities=query.entities,
        )

    def relevance(
        self,
        query: TextAnalysis,
        *,
        upto: int | None = None,
        query_vector: NDArray[np.float32] | None = None,
    ) -> Relevance:
        """Relevance of the messages [0, upto) to a question.

        ``r = 1/(1 + exp(offset - sum_k w_k x_k))`` over the signals of `SignalWeights`.

        Args:
            query: Analysis of the question.
            upto: Messages that count, all by default.
            query_vector: Unit embedding of the question; messages without one get the mean.

        Returns:
            Values in [0, 1]; all 0 when the question has no word in common with any message and no
            date, speaker or vector speaks for one.
        """
        n = self._bound(upto)
        profile = self.profile(query, upto=n)
        parts: dict[str, NDArray[np.float64]] = {}
        if n:
            norm = self._norm(n)
            segment = self._segments.column(n)
            self._add_terms(parts, profile, n, norm, segment)
            self._add_groups(parts, profile, n, norm, segment)
            self._add_question(parts, query, profile, n)
            self._add_vectors(parts, n, query_vector)
        evidence = np.zeros(n)
        for name in ("nearby", "kind", "kind_around", "date", "vector"):
            evidence = np.maximum(evidence, parts.get(name, 0.0))
        if not evidence.any():
            return Relevance(np.zeros(n), parts, profile)
        self._add_priors(parts, n)
        score = np.zeros(n)
        for part in parts.values():
            score += part
        values = 1.0 / (1.0 + np.exp(np.clip(self.settings.offset - score, -500.0, 500.0)))
        return Relevance(np.asarray(values), parts, profile)

    def nearby_share(self, answer: Relevance) -> NDArray[np.float64]:
        """Share of the question's weight held by each message and its neighbours, 0 to 1."""
        total = sum(weight for _, weight in answer.profile.weights)
        part = answer.signals.get("nearby")
        scale = self.settings.weights.nearby * total / _INDEX_IDF_UNIT
        return np.zeros(answer.values.shape) if part is None or scale <= 0.0 else part / scale

    def term_reach(self, term: str, upto: int) -> tuple[int, int]:
        """First and last message below `upto` that holds the term; (upto, -1) for none."""
        held, _ = self._postings.holders(term, upto)
        return (int(held[0]), int(held[-1])) if held.size else (upto, -1)

    def knows_only(self, name: str, absent: set[str]) -> bool:
        """Whether all terms of a name are among the `absent` ones."""
        terms = [term for word in split_words(name) for term in look_up_word(word).terms]
        return bool(terms) and absent.issuperset(terms)

    def _bound(self, upto: int | None) -> int:
        return len(self) if upto is None else max(0, min(upto, len(self)))

    def _norm(self, n: int) -> NDArray[np.float64]:
        s = self.settings
        return length_norm(np.array(self._length[:n], dtype=np.float64), s.k1, s.b, s.mean_length)

    def _idf(self, term: str, n: int, norm: NDArray[np.float64]) -> float:
        """Inverse frequency; a long message counts as a part of a holder only. 0 if unknown."""
        held, _ = self._postings.holders(term, n)
        if not held.size:
            return 0.0
        df = float(np.minimum(1.0, self.settings.k1 / norm[held]).sum())
        return float(inverse_frequency(np.array([df]), n)[0])

    def _surroundings(self, n: int, segment: NDArray[np.int64]) -> Surroundings:
        s = self.settings
        length = np.array(self._length[:n], dtype=np.float64)
        return Surroundings(segment, length, reach=s.reach, k1=s.k1, b=s.b)

    def _add_terms(
        self,
        parts: dict[str, NDArray[np.float64]],
        profile: QueryProfile,
        n: int,
        norm: NDArray[np.float64],
        segment: NDArray[np.int64],
    ) -> None:
        total = sum(weight for _, weight in profile.weights)
        if total <= 0.0:
            return
        near, hits, around = np.zeros(n), np.zeros(n), np.zeros(n)
        number = segment - segment[0]
        seen = np.zeros(int(number[-1]) + 1)
        surroundings = self._surroundings(n, segment)
        for term, idf in profile.weights:
            held, counts = self._postings.holders(term, n)
            presence = term_presence(counts.astype(np.float64), norm[held])
            hits[held] += presence
            near += idf * nearby_presence(held, presence, segment, self.settings.near)
            around += (idf / total) * surroundings.presence(held, counts)
            reached = np.zeros(seen.shape)
            reached[number[held]] = idf / total
            seen += reached
        w = self.settings.weights
        parts["nearby"] = (w.nearby / _INDEX_IDF_UNIT) * near
        parts["hits"] = w.hits * np.log1p(hits)
        parts["around"] = w.around * around
        parts["segment"] = w.segment * seen[number]

    def _add_groups(
        self,
        parts: dict[str, NDArray[np.float64]],
        profile: QueryProfile,
        n: int,
        norm: NDArray[np.float64],
        segment: NDArray[np.int64],
    ) -> None:
        groups: dict[str, float] = {}
        asked = [t for t, _ in profile.weights if meta_share(t, profile.cues) == 1.0]
        for term in (*asked, *profile.unknown):
            for group in concepts_of(term):
                if group not in groups:
                    groups[group] = self._idf(group, n, norm)
        kept = sorted((-idf, group) for group, idf in groups.items() if idf > 0.0)
        kept = kept[: self.settings.max_groups]
        if not kept:
            return
        total = -sum(negative for negative, _ in kept)
        own, around = np.zeros(n), np.zeros(n)
        surroundings = self._surroundings(n, segment)
        for negative, group in kept:
            held, counts = self._postings.holders(group, n)
            own[held] -= (negative / total) * term_presence(counts.astype(np.float64), norm[held])
            around -= negative * surroundings.presence(held, counts)
        w = self.settings.weights
        parts["kind"] = w.kind * own
        parts["kind_around"] = (w.kind_around / _INDEX_IDF_UNIT) * around

    def _add_question(
        self,
        parts: dict[str, NDArray[np.float64]],
        query: TextAnalysis,
        profile: QueryProfile,
        n: int,
    ) -> None:
        w = self.settings.weights
        flags = np.array(self._flags[:n])
        named, _ = self._people.named(query, n)
        if len(named) == 1:
            speaker = self._people.column(n)
            parts["speaker"] = w.speaker * (
                (speaker == named[0]) * 1.0 - ((speaker != named[0]) & (speaker >= 0))
            )
        if len(self._people.known(n)) < 2:
            wanted = 2 if profile.cues & CUE_ASSISTANT else 1
            parts["user"] = w.user * (np.array(self._role[:n]) == wanted)
        if profile.kind == "when":
            parts["when"] = w.when * ((flags & _INDEX_FLAG_TIME) != 0)
        if query.dates:
            days = self._segments.days(n)
            known = np.unique(days[days > 0])
            if known.size:
                years = sorted({date.fromordinal(int(day)).year for day in known})
                spans = [
                    day_span(value, year)
                    for value in query.dates
                    for year in ([value[0]] if value[0] else years)
                ]
                parts["date"] = w.date * date_closeness(
                    days, tuple(span for span in spans if span[1]), self.settings.date_falloff
                )

    def _add_vectors(
        self,
        parts: dict[str, NDArray[np.float64]],
        n: int,
        query_vector: NDArray[np.float32] | None,
    ) -> None:
        if query_vector is None:
            return
        rows = [i for i in range(n) if self._vectors[i] is not None]
        if not rows:
            return
        cosine = np.stack([self._vectors[i] for i in rows]).astype(np.float64) @ query_vector
        spread = float(cosine.std())
        if not np.isfinite(cosine).all() or spread < 1e-9:
            return
        column = np.zeros(n)
        column[rows] = (cosine - cosine.mean()) / spread
        parts["vector"] = self.settings.weights.vector * column

    def _add_priors(self, parts: dict[str, NDArray[np.float64]], n: int) -> None:
        w = self.settings.weights
        flags = np.array(self._flags[:n])
        parts["novel"] = w.novel * np.log1p(self._postings.fresh(n))
        parts["standing"] = w.standing * ((flags & _INDEX_FLAG_STANDING) != 0)
        parts["first_person"] = w.first_person * ((flags & _INDEX_FLAG_FIRST) != 0)
        parts["length"] = w.length * np.log(np.array(self._tokens[:n], dtype=np.float64))
        parts["tool"] = w.tool * (np.array(self._role[:n]) == 3)
