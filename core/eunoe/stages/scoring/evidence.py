"""What the words of a question find: parts of the log-odds, one column each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eunoe.stages.scoring.concepts import concepts_of
from eunoe.stages.scoring.postings import TermPostings
from eunoe.stages.scoring.profile import QueryProfile, meta_share
from eunoe.stages.scoring.settings import ScoringSettings
from eunoe.stages.scoring.signals import (
    Surroundings,
    inverse_frequency,
    length_norm,
    nearby_presence,
    term_presence,
)

EVIDENCE_IDF_UNIT = 5.0
"""Sums of idf are divided by this, about the idf of a word in one message of two hundred."""


@dataclass(frozen=True, slots=True)
class EvidenceView:
    """The messages [0, n) as evidence sees them.

    Attributes:
        postings: Terms of the messages.
        settings: Constants.
        length: Terms per message, shape (n,).
        segment: Segment number of each message, shape (n,), n >= 1.
    """

    postings: TermPostings
    settings: ScoringSettings
    length: NDArray[np.float64]
    segment: NDArray[np.int64]

    @property
    def size(self) -> int:
        """Number of messages."""
        return int(self.length.shape[0])

    def norm(self) -> NDArray[np.float64]:
        """BM25 length norm of each message against the fixed mean length."""
        s = self.settings
        return length_norm(self.length, s.k1, s.b, s.mean_length)

    def surroundings(self) -> Surroundings:
        """Windows around each message."""
        s = self.settings
        return Surroundings(self.segment, self.length, reach=s.reach, k1=s.k1, b=s.b)

    def idf(self, term: str, norm: NDArray[np.float64]) -> float:
        """Inverse frequency of a term, 0 if unknown.

        A message longer than usual counts as a part of a holder only: in a long text a common
        word says nothing about the word.
        """
        held, _ = self.postings.holders(term, self.size)
        if not held.size:
            return 0.0
        df = float(np.minimum(1.0, self.settings.k1 / norm[held]).sum())
        return float(inverse_frequency(np.array([df]), self.size)[0])


def term_parts(view: EvidenceView, profile: QueryProfile) -> dict[str, NDArray[np.float64]]:
    """Columns ``nearby``, ``hits``, ``around`` and ``segment`` (see `SignalWeights`).

    Args:
        view: The messages.
        profile: The question; without known terms the answer is empty.
    """
    total = sum(weight for _, weight in profile.weights)
    if total <= 0.0:
        return {}
    n, s = view.size, view.settings
    norm = view.norm()
    near, hits, around = np.zeros(n), np.zeros(n), np.zeros(n)
    number = view.segment - view.segment[0]
    seen = np.zeros(int(number[-1]) + 1)
    surroundings = view.surroundings()
    for term, idf in profile.weights:
        held, counts = view.postings.holders(term, n)
        presence = term_presence(counts.astype(np.float64), norm[held])
        hits[held] += presence
        near += idf * nearby_presence(held, presence, view.segment, s.near)
        around += (idf / total) * surroundings.presence(held, counts)
        reached = np.zeros(seen.shape)
        reached[number[held]] = idf / total
        seen += reached
    w = s.weights
    return {
        "nearby": (w.nearby / EVIDENCE_IDF_UNIT) * near,
        "hits": w.hits * np.log1p(hits),
        "around": w.around * around,
        "segment": w.segment * seen[number],
    }


def group_parts(view: EvidenceView, profile: QueryProfile) -> dict[str, NDArray[np.float64]]:
    """Columns ``kind`` and ``kind_around`` of the thesaurus groups of the question.

    Args:
        view: The messages.
        profile: The question; words about the chat itself ask for no group.
    """
    n, norm = view.size, view.norm()
    groups: dict[str, float] = {}
    asked = [t for t, _ in profile.weights if meta_share(t, profile.cues) == 1.0]
    for term in (*asked, *profile.unknown):
        for group in concepts_of(term):
            if group not in groups:
                groups[group] = view.idf(group, norm)
    kept = sorted((-idf, group) for group, idf in groups.items() if idf > 0.0)
    kept = kept[: view.settings.max_groups]
    if not kept:
        return {}
    total = -sum(negative for negative, _ in kept)
    own, around = np.zeros(n), np.zeros(n)
    surroundings = view.surroundings()
    for negative, group in kept:
        held, counts = view.postings.holders(group, n)
        own[held] -= (negative / total) * term_presence(counts.astype(np.float64), norm[held])
        around -= negative * surroundings.presence(held, counts)
    w = view.settings.weights
    return {
        "kind": w.kind * own,
        "kind_around": (w.kind_around / EVIDENCE_IDF_UNIT) * around,
    }
