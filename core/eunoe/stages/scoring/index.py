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

FloatVector = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ScoringSettings:
    k1: float = 1.2
    b: float = 0.75


class RelevanceIndex:
    def __init__(self, settings: ScoringSettings | None = None) -> None:
        self.settings = settings or ScoringSettings()
        self.vocab: dict[str, int] = {}
        self.docs: list[array[int]] = []
        self.tfs: list[array[int]] = []
        self.analyses: list[TextAnalysis] = []
        self.length = array("i"); self.tokens = array("i"); self.turn = array("i")
        self.segment = array("i"); self.stamp = array("q"); self.speaker = array("i")
        self.speakers: dict[str, int] = {}
        self._seg_n = 0

    def __len__(self) -> int:
        return len(self.length)

    def append(self, a: TextAnalysis, *, turn: int, tokens: int) -> None:
        i = len(self.length)
        for t, c in zip(a.terms, a.counts):
            k = self.vocab.setdefault(t, len(self.docs))
            if k == len(self.docs):
                self.docs.append(array("i")); self.tfs.append(array("i"))
            self.docs[k].append(i); self.tfs[k].append(c)
        stamp = a.stamp or (self.stamp[-1] if i else 0)
        new = i == 0
        if i:
            if a.stamp:
                new = abs(stamp - self.stamp[-1]) > 240
            else:
                new = self._seg_n >= 24 and a.role == "user" and not self._dated
        if new:
            self._seg_n = 0; self._dated = bool(a.stamp)
        self._seg_n += 1
        self.segment.append((self.segment[-1] + 1 if i else 0) if new else self.segment[-1])
        self.stamp.append(stamp)
        self.length.append(a.length); self.tokens.append(tokens); self.turn.append(turn)
        self.speaker.append(self.speakers.setdefault(a.speaker or a.role, len(self.speakers)))
        self.analyses.append(a)
