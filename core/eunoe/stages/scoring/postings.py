"""Terms of a growing list of messages: which message holds which term how often."""

from __future__ import annotations

import itertools
from array import array
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eunoe.stages.scoring.analysis import TextAnalysis
from eunoe.stages.scoring.concepts import concept_members


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

    Terms are numbered in the order in which they are met. The numbers of all messages stand one
    after another in one array, which is compared with those asked for: no list is kept for each
    term, since most terms of a chat occur once.

    The label of a thesaurus group stands for all terms of the group.
    """

    def __init__(self) -> None:
        self._numbers: defaultdict[str, int] = defaultdict(itertools.count().__next__)
        self._terms = array("i")
        self._counts = array("i")
        self._message = array("i")
        self._ends = array("i")
        self._fresh = array("i")
        self._holders = np.zeros(0, dtype=np.int32)
        self._counted = 0
        self._summed = np.zeros(0)
        self._summed_upto = 0

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
        size = len(self._terms)
        if self._counted < size:
            new = np.frombuffer(self._terms, np.int32, size - self._counted, 4 * self._counted)
            holders = np.bincount(new, minlength=len(self._numbers))
            holders[: self._holders.size] += self._holders
            self._holders, self._counted = holders.astype(np.int32), size
        known = [(t, n) for t in dict.fromkeys(terms) if (n := self._numbers.get(t)) is not None]
        counts = self._holders.take([number for _, number in known]).tolist() if known else []
        return [t for (t, _), count in zip(known, counts, strict=True) if 2 <= count <= most]

    def gather(self, terms: Sequence[str], upto: int) -> TermHits:
        """The holders of several terms among the messages below `upto`, in one look."""
        rows_of: dict[int, list[int]] = {}
        for row, term in enumerate(terms):
            for member in concept_members(term) or (term,):
                number = self._numbers.get(member)
                if number is not None:
                    rows_of.setdefault(number, []).append(row)
        end = self._ends[upto - 1] if upto else 0
        if not end or not rows_of:
            return TermHits((0,) * len(terms), np.zeros(0, dtype=np.int64), np.zeros(0))
        wanted = np.zeros(len(self._numbers), dtype=np.bool_)
        numbers = list(rows_of)
        wanted[numbers] = True
        terms_of = np.frombuffer(self._terms, np.int32, end)
        place = wanted.take(terms_of).nonzero()[0]
        slot = np.empty(wanted.size, dtype=np.int32)
        slot[numbers] = range(len(numbers))
        rows = _postings_rows(slot.take(terms_of.take(place)), list(rows_of.values()))
        messages = np.frombuffer(self._message, np.int32, end).take(place)
        counts = np.frombuffer(self._counts, np.int32, end).take(place)
        return _postings_hits(rows, messages, counts, len(terms))

    def numbers_of(self, terms: Sequence[str]) -> list[int]:
        """Numbers of the terms that some message holds."""
        return [number for t in terms if (number := self._numbers.get(t)) is not None]

    def uses_in(self, places: Sequence[int]) -> TermUses:
        """All terms of some messages, message after message."""
        first = np.array([self._ends[i - 1] if i else 0 for i in places], dtype=np.int64)
        many = np.array([self._ends[i] for i in places], dtype=np.int64) - first
        before = np.cumsum(many) - many
        return self._uses(np.repeat(first - before, many) + np.arange(int(many.sum())))

    def uses_of(self, numbers: NDArray[np.int64], upto: int) -> TermUses:
        """All holders below `upto` of the terms with some numbers, ascending by message."""
        wanted = np.zeros(len(self._numbers), dtype=np.bool_)
        wanted[numbers] = True
        terms = np.frombuffer(self._terms, np.int32, self._ends[upto - 1] if upto else 0)
        return self._uses(np.flatnonzero(wanted.take(terms)))

    def _uses(self, places: NDArray[np.int64]) -> TermUses:
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


def _postings_rows(
    slot: NDArray[np.int32], rows: list[list[int]]
) -> tuple[NDArray[np.int32], NDArray[np.int64] | None]:
    """Row of each posting; where a term belongs to several rows, also how often it is repeated."""
    flat = np.array([row for held in rows for row in held], dtype=np.int32)
    if flat.size == len(rows):
        return flat.take(slot), None
    width = np.array([len(held) for held in rows])
    times = width.take(slot)
    before = np.cumsum(times) - times
    start = (np.cumsum(width) - width).take(slot) - before
    return flat.take(np.repeat(start, times) + np.arange(int(times.sum()))), times


def _postings_hits(
    rows: tuple[NDArray[np.int32], NDArray[np.int64] | None],
    messages: NDArray[np.int32],
    counts: NDArray[np.int32],
    terms: int,
) -> TermHits:
    """Postings by row; those of one row in one message added up."""
    row, times = rows
    if times is not None:
        messages, counts = np.repeat(messages, times), np.repeat(counts, times)
    order = np.argsort(row.astype(np.int16) if terms < 1 << 15 else row, kind="stable")
    row, held, many = row.take(order), messages.take(order), counts.take(order)
    fresh = np.ones(held.size, dtype=np.bool_)
    fresh[1:] = (row[1:] != row[:-1]) | (held[1:] != held[:-1])
    first = np.flatnonzero(fresh)
    if 0 < first.size < held.size:
        row, held, many = row.take(first), held.take(first), np.add.reduceat(many, first)
    ends = row.searchsorted(np.arange(terms), side="right")
    return TermHits(tuple(ends.tolist()), held.astype(np.int64), many.astype(np.float64))
