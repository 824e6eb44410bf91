"""Term postings of a growing list of messages."""

from __future__ import annotations

from array import array

import numpy as np
from numpy.typing import NDArray

from eunoe.stages.scoring.analysis import TextAnalysis
from eunoe.stages.scoring.concepts import concepts_of


class TermPostings:
    """Which message holds which term how often; append only.

    Thesaurus groups are terms too; they do not count for the length of a message.
    """

    def __init__(self) -> None:
        self._rows: dict[str, int] = {}
        self._holders: list[array[int]] = []
        self._counts: list[array[int]] = []
        self._fresh = array("i")

    def __len__(self) -> int:
        return len(self._fresh)

    def append(self, analysis: TextAnalysis) -> None:
        """Add the terms of the next message."""
        position = len(self._fresh)
        fresh = 0
        groups: dict[str, int] = {}
        for term, count in zip(analysis.terms, analysis.counts, strict=True):
            fresh += self._add(term, position, count)
            for group in concepts_of(term):
                groups[group] = groups.get(group, 0) + count
        for group, count in groups.items():
            self._add(group, position, count)
        self._fresh.append(fresh)

    def _add(self, term: str, position: int, count: int) -> bool:
        row = self._rows.get(term)
        if row is None:
            self._rows[term] = len(self._holders)
            self._holders.append(array("i", (position,)))
            self._counts.append(array("i", (count,)))
            return True
        self._holders[row].append(position)
        self._counts[row].append(count)
        return False

    def fresh(self, upto: int) -> NDArray[np.float64]:
        """Terms that each message was the first to use, shape (upto,)."""
        return np.array(self._fresh[:upto], dtype=np.float64)

    def holders(self, term: str, upto: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Messages below `upto` that hold the term, ascending, and how often."""
        row = self._rows.get(term)
        if row is None:
            return np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int32)
        held = np.array(self._holders[row], dtype=np.int32)
        cut = int(np.searchsorted(held, upto))
        return held[:cut], np.array(self._counts[row][:cut], dtype=np.int32)
