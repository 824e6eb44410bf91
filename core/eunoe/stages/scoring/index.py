"""The relevance index: append messages, ask for the relevance of all of them to a question.

Everything that depends on the question is computed when it is asked, from term postings kept in
growing integer arrays, so an index built message by message equals one built at once, and an answer
about the first n messages does not depend on later ones.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from eunoe.stages.scoring.analysis import TextAnalysis
from eunoe.stages.scoring.asked_words import near_terms
from eunoe.stages.scoring.columns import COLUMN_LAST_DAY, day_column, label_column, speaker_column
from eunoe.stages.scoring.cues import CUE_ASSISTANT, names_one_first
from eunoe.stages.scoring.evidence import EVIDENCE_IDF_UNIT, EvidenceView, group_parts, term_parts
from eunoe.stages.scoring.feedback import feedback_column
from eunoe.stages.scoring.grown import GrownColumns
from eunoe.stages.scoring.people import SpeakerRegister
from eunoe.stages.scoring.postings import TermPostings
from eunoe.stages.scoring.priors import PRIOR_FLAG_TIME, prior_flags, priors_by_flags
from eunoe.stages.scoring.profile import QueryProfile, Relevance, cues_of, kind_of, meta_share
from eunoe.stages.scoring.segments import SegmentTrack
from eunoe.stages.scoring.settings import ScoringSettings
from eunoe.stages.scoring.signals import bm25_column, inverse_frequency, length_norm
from eunoe.stages.scoring.vectors import beyond_chance, vector_column
from eunoe.stages.scoring.words import terms_of_text

INDEX_SUBJECT_SHARE = 0.5
"""Pull of the first of two speakers in a question, who is its subject."""
_INDEX_ROLES = {"user": 1, "assistant": 2, "tool": 3, "function": 3}
_Named = tuple[int, ...]
_INDEX_PRIORS = ("novel", "standing", "first_person", "length", "tool")


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
        self._turn = array("i")
        self._flags = array("i")
        self._grown = GrownColumns(
            "terms", "norm", "novel", "length", "standing", "first_person", "tool"
        )
        self._by_flags = priors_by_flags(self.settings.weights)

    def __len__(self) -> int:
        return len(self._length)

    def append(
        self,
        analysis: TextAnalysis,
        *,
        turn: int,
        tokens: int,
        stamp: int = 0,
    ) -> None:
        """Add the next message; cost is linear in its terms.

        Args:
            analysis: Its analysis.
            turn: Number of its turn.
            tokens: Its cost in tokens.
            stamp: Its time, minutes since 1 January of year 1, if the host knows it; else see text.
        """
        self.extend([analysis], turns=[turn], tokens=[tokens], stamp=stamp)

    def extend(
        self,
        analyses: Sequence[TextAnalysis],
        *,
        turns: Sequence[int],
        tokens: Sequence[int],
        stamp: int = 0,
    ) -> None:
        """Add the next messages; as `append` does one after another.

        Args:
            analyses: Their analyses; `turns` and `tokens` are theirs, same length.
            stamp: Time of all of them, when the host knows it.
        """
        known = stamp if 0 < stamp <= COLUMN_LAST_DAY * 1440 else 0
        self._postings.extend(analyses)
        for analysis in analyses:
            self._people.append(analysis)
            self._segments.append(known or analysis.stamp, analysis.role)
        self._length.extend([a.length for a in analyses])
        self._tokens.extend([max(1, t) for t in tokens])
        self._role.extend([_INDEX_ROLES.get(a.role, 0) for a in analyses])
        self._turn.extend(turns)
        self._flags.extend(map(prior_flags, analyses))

    def profile(self, query: TextAnalysis, *, upto: int | None = None) -> QueryProfile:
        """The question as it is understood against the messages [0, upto)."""
        return self._profile(query, self._view(self._bound(upto)))[0]

    def _profile(self, query: TextAnalysis, view: EvidenceView) -> tuple[QueryProfile, _Named]:
        named, name_terms = self._people.named(query, view.size)
        cues, kind = cues_of(query), kind_of(query)
        weights: list[tuple[str, float]] = []
        unknown: list[str] = []
        terms = [term for term in query.terms if term not in name_terms]
        view.ask(terms)
        near = near_terms(view, query, terms)
        if near:
            view.ask([*terms, *near])
        for term in terms:
            idf = view.idf(term)
            if idf > 0.0:
                weights.append((term, idf * meta_share(term, cues, kind)))
            else:
                unknown.append(term)
        weights += [(term, share * view.idf(term)) for term, share in near.items()]
        weights.sort(key=lambda pair: -pair[1])
        profile = QueryProfile(
            weights=tuple(weights[: self.settings.max_terms]),
            unknown=tuple(unknown),
            asks=query.asks,
            kind=kind,
            cues=cues,
            speaker=self._people.name_of(named[0]) if len(named) == 1 else "",
            dates=query.dates,
            entities=query.entities,
            people=len(named),
        )
        return profile, named

    def relevance(
        self,
        query: TextAnalysis,
        *,
        upto: int | None = None,
        likeness: NDArray[np.float64] | None = None,
        labels: NDArray[np.float64] | None = None,
        ahead: NDArray[np.float64] | None = None,
    ) -> Relevance:
        """Relevance of the messages [0, upto) to a question.

        ``r = 1/(1 + exp(share (offset - sum_k w_k x_k)))`` over the signals of `SignalWeights`;
        ``share`` is 1 without embeddings.

        Args:
            query: Analysis of the question.
            upto: Messages that count, all by default.
            likeness: Cosine of each message with the question, NaN for none, shape (upto,).
            labels: What a model says each message is worth to the question, in [0, 1], NaN where it
                says nothing, shape (upto,).
            ahead: The same to whatever may be asked; it ranks what something else speaks for.

        Returns:
            Values in [0, 1]; all 0 when no word, date, label or embedding speaks for a message,
            unless a question names a speaker, of whom what tells most is found.
        """
        n = self._bound(upto)
        view = self._view(n)
        profile, named = self._profile(query, view)
        reaches = {term: view.reach(term) for term, _ in profile.weights}
        parts: dict[str, NDArray[np.float64]] = {}
        if n:
            parts |= term_parts(view, profile)
            parts |= group_parts(view, profile)
            self._add_question(parts, query, profile, named, n)
        evidence = self._add_models(parts, likeness, labels, n)
        for name in ("nearby", "kind", "kind_around", "date"):
            if name in parts:
                evidence = np.maximum(evidence, parts[name])
        if not (evidence.any() or (named and query.asks)):
            return Relevance(np.zeros(n), parts, profile, reaches)
        parts |= {name: self._grown.column(name, n) for name in _INDEX_PRIORS}
        if ahead is not None:
            parts["label_ahead"] = self.settings.weights.label_ahead * label_column(ahead[:n])
        score = np.zeros(n)
        for part in parts.values():
            score += part
        feedback = feedback_column(view, score, evidence, query.terms)
        if feedback is not None:
            parts["feedback"] = feedback
            score += feedback
        share = self.settings.vector_share if "vector" in parts else 1.0
        against = share * (self.settings.offset - score)
        odds = np.exp(np.minimum(np.maximum(against, -500.0), 500.0))
        return Relevance(1.0 / (1.0 + odds), parts, profile, reaches)

    def bm25(self, query: TextAnalysis, *, upto: int | None = None) -> NDArray[np.float64]:
        """Plain BM25 of the messages [0, upto), shape (upto,), unbounded."""
        n = self._bound(upto)
        found = [
            pair for pair in (self._postings.holders(t, n) for t in query.terms) if pair[0].size
        ]
        grid = np.zeros((len(found), n))
        for row, (held, counts) in enumerate(found):
            grid[row, held] = counts
        holders = np.array([float(held.size) for held, _ in found])
        length = np.array(self._length[:n], dtype=np.float64)
        idf = inverse_frequency(holders, n)
        return bm25_column(grid, length, idf, self.settings.k1, self.settings.b)

    def roles(self, upto: int | None = None) -> NDArray[np.int8]:
        """Role of each message: 1 user, 2 assistant, 3 tool, 0 other."""
        return np.array(self._role[: self._bound(upto)], dtype=np.int8)

    def turns(self, upto: int | None = None) -> NDArray[np.int64]:
        """Turn number of each message."""
        return np.array(self._turn[: self._bound(upto)], dtype=np.int64)

    def nearby_share(self, answer: Relevance) -> NDArray[np.float64]:
        """Share of the question's weight held by each message and its neighbours, 0 to 1."""
        total = sum(weight for _, weight in answer.profile.weights)
        part = answer.signals.get("nearby")
        scale = self.settings.weights.nearby * total / EVIDENCE_IDF_UNIT
        return np.zeros(answer.values.shape) if part is None or scale <= 0.0 else part / scale

    def holders(self, terms: Sequence[str], upto: int) -> list[list[int]]:
        """The messages below `upto` that hold each of some terms, in one look at the messages."""
        hits = self._postings.gather(terms, upto)
        return [hits.messages[hits.span(place)].tolist() for place in range(len(terms))]

    def rare_holders(self, terms: Sequence[str], upto: int, most: int) -> dict[str, list[int]]:
        """The messages below `upto` that hold a term, of those that 2 to `most` messages hold."""
        rare = self._postings.rare(terms, most if upto == len(self) else len(self))
        held = zip(rare, self.holders(rare, upto), strict=True)
        return {term: places for term, places in held if 2 <= len(places) <= most}

    def knows_only(self, name: str, absent: set[str]) -> bool:
        """Whether all terms of a name are among the `absent` ones."""
        terms = terms_of_text(name)
        return bool(terms) and absent.issuperset(terms)

    def _bound(self, upto: int | None) -> int:
        return len(self) if upto is None else max(0, min(upto, len(self)))

    def _view(self, n: int) -> EvidenceView:
        self._grow_columns()
        return EvidenceView(
            postings=self._postings,
            settings=self.settings,
            length=self._grown.column("terms", n),
            segment=self._segments.column(n),
            norm=self._grown.column("norm", n),
        )

    def _add_question(
        self,
        parts: dict[str, NDArray[np.float64]],
        query: TextAnalysis,
        profile: QueryProfile,
        named: _Named,
        n: int,
    ) -> None:
        w = self.settings.weights
        if len(named) == 1 or (len(named) == 2 and names_one_first(query.asked)):
            share = 1.0 if len(named) == 1 else INDEX_SUBJECT_SHARE
            parts["speaker"] = w.speaker * share * speaker_column(self._people.column(n), named[0])
        if len(self._people.known(n)) < 2:
            wanted = 2 if profile.cues & CUE_ASSISTANT else 1
            parts["user"] = w.user * (np.frombuffer(self._role, np.int8, n) == wanted)
        if profile.kind == "when":
            flags = np.frombuffer(self._flags, np.int32, n)
            parts["when"] = w.when * ((flags & PRIOR_FLAG_TIME) != 0)
        if query.dates:
            days = day_column(query.dates, self._segments.days(n), self.settings.date_falloff)
            if days is not None:
                parts["date"] = w.date * days

    def _add_models(
        self,
        parts: dict[str, NDArray[np.float64]],
        likeness: NDArray[np.float64] | None,
        labels: NDArray[np.float64] | None,
        n: int,
    ) -> NDArray[np.float64]:
        """Add what embeddings and labels say; what of it is evidence by itself, shape (n,)."""
        s = self.settings
        evidence = np.zeros(n)
        if likeness is not None and n:
            tokens = np.array(self._tokens[:n], dtype=np.float64)
            column = vector_column(
                likeness[:n], tokens, self._segments.column(n), near=s.vector_near
            )
            if column is not None:
                parts["vector"] = s.weights.vector * column
                evidence = beyond_chance(column)
        if labels is not None and n:
            parts["label"] = s.weights.label * label_column(labels[:n])
            evidence = np.maximum(evidence, parts["label"])
        return evidence

    def _grow_columns(self) -> None:
        """Find what no question changes, of the messages that came since the last question."""
        w, s, start = self.settings.weights, self.settings, len(self._grown)
        if start == len(self):
            return
        more = len(self) - start
        flags = np.frombuffer(self._flags, np.int32, more, 4 * start)
        tokens = np.frombuffer(self._tokens, np.int32, more, 4 * start)
        grown = self._grown.append(more)
        grown[0] = np.frombuffer(self._length, np.int32, more, 4 * start)
        grown[1] = length_norm(grown[0], s.k1, s.b, s.mean_length)
        grown[2] = w.novel * np.log1p(self._postings.fresh(start))
        grown[3] = w.length * np.log(tokens)
        grown[4:] = self._by_flags.take(flags, axis=1)
