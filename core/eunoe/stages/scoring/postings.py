"""Terms of a growing list of messages: which message holds which term how often."""

from __future__ import annotations

import itertools
from array import array
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from eunoe.stages.scoring.analysis import TextAnalysis
from eunoe.stages.scoring.concepts import concept_members
from eunoe.stages.scoring.near_words import NEAR_MOST, NearWords

_POSTINGS_BESIDE = 256
_NO_PLACES = np.zeros(0, dtype=np.int32)


@dataclass(frozen=True, slots=True, eq=False)
class TermHits:
    """The holders of several terms, term after term.

    Attributes:
        ends: Where the holders of each term end, shape (terms,).
        messages: Messages that hold a term, ascending for each term.
        counts: How often they do, same shape.
    """

    ends: tuple[int, ...]
    messages: NDArray[np.int64]
    counts: NDArray[np.float64]

    def span(self, place: int) -> slice:
        """Where the holders of one of the terms stand."""
        return slice(self.ends[place - 1] if place else 0, self.ends[place])


@dataclass(frozen=True, slots=True, eq=False)
class TermUses:
    """Some postings, one entry for each.

    Attributes:
        terms: Numbers of the terms, shape (postings,).
        messages: Which message holds it, same shape.
        counts: How often it does, same shape.
    """

    terms: NDArray[np.int32]
    messages: NDArray[np.int32]
    counts: NDArray[np.float64]


class TermPostings:
    """Which message holds which term how often; append only.

    Terms are numbered in the order in which they are met. The postings of all messages stand one
    after another. Their places are sorted by term when they are first asked for, and again when
    enough others have come: no list is kept for each term, since most terms of a chat occur once.

    The label of a thesaurus group stands for all terms of the group.
    """

    def __init__(self) -> None:
        self._numbers: defaultdict[str, int] = defaultdict(itertools.count().__next__)
        self._terms = array("i")
        self._counts = array("i")
        self._message = array("i")
        self._ends = array("i")
        self._fresh = array("i")
        self._sorted = np.zeros(0, dtype=np.int32)
        self._starts = [0]
        self._later: dict[int, list[int]] = {}
        self._placed = 0
        self._summed = np.zeros(0)
        self._summed_upto = 0
        self._near = NearWords(self._numbers)

    def __len__(self) -> int:
        return len(self._fresh)

    def append(self, analysis: TextAnalysis) -> None:
        """Add the terms of the next message."""
        self.extend([analysis])

    def extend(self, analyses: Sequence[TextAnalysis]) -> None:
        """Add the terms of the next messages."""
        numbers, start = self._numbers, len(self._terms)
        terms: list[int] = []
        counts: list[int] = []
        message: list[int] = []
        for place, analysis in enumerate(analyses, len(self._ends)):
            known = len(numbers)
            terms += map(numbers.__getitem__, analysis.terms)
            counts += analysis.packed_counts
            message += [place] * len(analysis.terms)
            self._ends.append(start + len(terms))
            self._fresh.append(len(numbers) - known)
        self._terms.fromlist(terms)
        self._counts.fromlist(counts)
        self._message.fromlist(message)

    def fresh(self, start: int = 0) -> NDArray[np.float64]:
        """Terms that each message from `start` on was the first to use."""
        fresh = np.frombuffer(self._fresh, np.int32, len(self._fresh) - start, 4 * start)
        return fresh.astype(np.float64)

    def holders(self, term: str, upto: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Messages below `upto` that hold the term, ascending, and how often."""
        hits = self.gather((term,), upto)
        return hits.messages, hits.counts

    def rare(self, terms: Sequence[str], most: int) -> list[str]:
        """Those of some terms (no labels) that 2 to `most` of all messages hold, in order."""
        self._sort_places()
        later, starts, sorted_terms = self._later, self._starts, len(self._starts) - 1
        rare: list[str] = []
        for term in dict.fromkeys(terms):
            number = self._numbers.get(term)
            if number is None:
                continue
            many = len(later[number]) if number in later else 0
            if number < sorted_terms:
                many += starts[number + 1] - starts[number]
            if 2 <= many <= most:
                rare.append(term)
        return rare

    def gather(self, terms: Sequence[str], upto: int) -> TermHits:
        """The holders of several terms among the messages below `upto`, in one look."""
        self._sort_places()
        end, runs, ends = self._ends[upto - 1] if upto else 0, [_NO_PLACES], []
        several, size = False, 0
        for term in terms:
            members = concept_members(term)
            if members:
                several, found = True, self._places(self.numbers_of(members))
            else:
                number = self._numbers.get(term)
                found = _NO_PLACES if number is None else self._places_of(number)
            if end < self._placed:
                found = found[: found.searchsorted(end)]
            runs.append(found)
            size += found.size
            ends.append(size)
        places = np.concatenate(runs)
        messages = np.frombuffer(self._message, np.int32).take(places)
        counts = np.frombuffer(self._counts, np.int32).take(places)
        if several and size:  # a message may hold more than one term of a group
            fresh = np.empty(size, dtype=np.bool_)
            np.not_equal(messages[1:], messages[:-1], out=fresh[1:])
            fresh[[0, *(end for end in ends if end < size)]] = True
            first = fresh.nonzero()[0]
            if first.size < size:
                messages, counts = messages.take(first), np.add.reduceat(counts, first)
                ends = first.searchsorted(ends).tolist()
        return TermHits(tuple(ends), messages.astype(np.int64), counts.astype(np.float64))

    def numbers_of(self, terms: Sequence[str]) -> list[int]:
        """Numbers of the terms that some message holds."""
        return [number for t in terms if (number := self._numbers.get(t)) is not None]

    def near(self, term: str, upto: int, *, known: bool, derived: bool) -> list[str]:
        """Terms that messages below `upto` hold, and that may be the one asked for.

        Args:
            term: Of a question; no label of a group.
            upto: Messages that count.
            known: Whether a message holds it as it is: then no slips are looked for.
            derived: Whether terms are stems, so that other endings make other words.

        Returns:
            A few, the nearest first: of the kinds of nearness the first that finds any.
        """
        words, met = self._words(), self._met(upto)
        inflected = partial(words.inflected, derived=derived)
        for find in (inflected, words.joined, words.mistyped)[: 3 - known]:
            found = [word for word in find(term) if self._numbers[word] < met]
            if found:
                return found[:NEAR_MOST]
        return []

    def holding(self, parts: Sequence[str], upto: int) -> list[str]:
        """Terms that messages below `upto` hold and that hold one of some parts, a few of them."""
        found, met = self._words().holding(parts), self._met(upto)
        return [word for word in found if self._numbers[word] < met][:NEAR_MOST]

    def _met(self, upto: int) -> int:
        """How many terms the messages below `upto` hold; theirs are the first numbers."""
        return len(self._numbers) if upto == len(self) else sum(self._fresh[:upto])

    def _words(self) -> NearWords:
        more = len(self._numbers) - len(self._near)
        if more > 0:  # from the end: those before are many
            self._near.extend([*itertools.islice(reversed(self._numbers), more)][::-1])
        return self._near

    def uses_in(self, places: Sequence[int]) -> TermUses:
        """All terms of some messages, message after message."""
        ends = self._ends
        runs = [np.arange(ends[i - 1] if i else 0, ends[i]) for i in places]
        return self._uses(np.concatenate([_NO_PLACES, *runs]))

    def uses_of(self, numbers: Sequence[int], upto: int) -> TermUses:
        """All holders below `upto` of the terms with some numbers, ascending by message."""
        self._sort_places()
        places, end = self._places(numbers), self._ends[upto - 1] if upto else 0
        return self._uses(places if end == self._placed else places[: places.searchsorted(end)])

    def _places(self, numbers: Sequence[int]) -> NDArray[np.int32]:
        """Places of the postings of some terms, ascending; sorted places are at hand."""
        later = [place for n in numbers if n in self._later for place in self._later[n]]
        beside = np.array(later, dtype=np.int32)
        places = np.concatenate([beside, *map(self._sorted_places_of, numbers)])
        places.sort()
        return places

    def _places_of(self, number: int) -> NDArray[np.int32]:
        """Places of the postings of one term, ascending; sorted places are at hand."""
        places = self._sorted_places_of(number)
        if number not in self._later:
            return places
        return np.concatenate([places, np.array(self._later[number], dtype=np.int32)])

    def _sorted_places_of(self, number: int) -> NDArray[np.int32]:
        starts = self._starts
        if number + 1 < len(starts):
            return self._sorted[starts[number] : starts[number + 1]]
        return _NO_PLACES

    def _sort_places(self) -> None:
        """Sort the places by term; a few later ones are kept beside them."""
        size = len(self._terms)
        if size == self._placed:
            return
        if size - self._sorted.size <= max(_POSTINGS_BESIDE, self._sorted.size // 8):
            for place in range(self._placed, size):
                self._later.setdefault(self._terms[place], []).append(place)
        else:
            terms, many = np.frombuffer(self._terms, np.int32), len(self._numbers)
            short = terms.astype(np.uint16) if many <= 1 << 16 else terms  # sooner sorted
            self._sorted = short.argsort(kind="stable").astype(np.int32)
            self._starts = [0, *np.bincount(terms, minlength=many).cumsum().tolist()]
            self._later = {}
        self._placed = size

    def _uses(self, places: NDArray[np.integer]) -> TermUses:
        return TermUses(
            np.frombuffer(self._terms, np.int32).take(places),
            np.frombuffer(self._message, np.int32).take(places),
            np.frombuffer(self._counts, np.int32).take(places).astype(np.float64),
        )

    def added_up(self, part: NDArray[np.float64], upto: int) -> NDArray[np.float64]:
        """For each term the parts of its holders below `upto`, added up in order, shape (terms,).

        Args:
            part: What each message counts as a holder, shape (upto,); the same at each call, since
                the sums over all messages are kept and only grow.
        """
        known, size = (self._summed, self._summed_upto) if upto == len(self) else (None, 0)
        sums = np.zeros(len(self._numbers))
        if known is not None:
            sums[: known.size] = known
        start = self._ends[size - 1] if size else 0
        more = (self._ends[upto - 1] if upto else 0) - start
        if more:
            terms = np.frombuffer(self._terms, np.int32, more, 4 * start)
            messages = np.frombuffer(self._message, np.int32, more, 4 * start)
            np.add.at(sums, terms, part.take(messages))
        if upto == len(self):
            self._summed, self._summed_upto = sums, upto
        return sums
