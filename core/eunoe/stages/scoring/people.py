"""Who speaks in a conversation, and who is meant by a question."""

from __future__ import annotations

from array import array
from bisect import bisect_left

import numpy as np
from numpy.typing import NDArray

from eunoe.stages.scoring.analysis import TextAnalysis
from eunoe.stages.scoring.words import look_up_word

PEOPLE_CALLS = 3
"""Greetings that make a name an alias of the other speaker."""


class SpeakerRegister:
    """Speakers in order of appearance and the names they are called by.

    In a chat of two, a name with which one of them greets ("Hey Mel!") is a name of the other.
    """

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._since: list[int] = []
        self._speaker = array("i")
        self._calls: dict[str, dict[int, array[int]]] = {}

    def append(self, analysis: TextAnalysis) -> None:
        """Add who speaks in the next message."""
        position = len(self._speaker)
        number = -1
        if analysis.speaker:
            number = self._numbers.setdefault(analysis.speaker, len(self._numbers))
            if number == len(self._since):
                self._since.append(position)
            addressed = analysis.addressed
            if addressed:
                calls = self._calls.setdefault(addressed, {})
                calls.setdefault(number, array("i")).append(position)
        self._speaker.append(number)

    def column(self, upto: int) -> NDArray[np.int32]:
        """Number of the speaker of each message, -1 for none, shape (upto,)."""
        return np.array(self._speaker[:upto], dtype=np.int32)

    def name_of(self, number: int) -> str:
        """The speaker of a number, from 0."""
        return next(name for name, k in self._numbers.items() if k == number)

    def known(self, upto: int) -> dict[str, int]:
        """Speakers that spoke before `upto`."""
        return {name: k for name, k in self._numbers.items() if self._since[k] < upto}

    def named(self, query: TextAnalysis, upto: int) -> tuple[tuple[int, ...], frozenset[str]]:
        """Speakers in the order a question names them, and the index terms of all names.

        Args:
            query: The question.
            upto: Messages that count.
        """
        known = self.known(upto)
        terms: dict[str, int] = {}
        for name, number in known.items():
            for term in look_up_word(name.split()[0])[0]:
                terms.setdefault(term, number)
        if len(known) == 2:
            for called, calls in self._calls.items():
                number = self._alias(calls, upto)
                for term in look_up_word(called)[0] if number >= 0 else ():
                    terms.setdefault(term, number)
        found = dict.fromkeys(terms[term] for term in query.terms if term in terms)
        return tuple(found), frozenset(terms)

    @staticmethod
    def _alias(calls: dict[int, array[int]], upto: int) -> int:
        counts = {number: bisect_left(held, upto) for number, held in calls.items()}
        total = sum(counts.values())
        for number, count in counts.items():
            if count >= PEOPLE_CALLS and count * 10 >= total * 9:
                return 1 - number if number in (0, 1) else -1
        return -1
