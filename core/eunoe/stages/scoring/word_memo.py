"""Memory of written words: what each contributes, made once."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from eunoe.stages.scoring.word_tables import WORD_MONTHS

WORD_LONGEST = 80
"""Characters of a term, and of a word that is remembered, at most."""

_MEMO_ENTRY_BYTES = 320
_MEMO_TERM_BYTES = 100


class WordEntry(NamedTuple):
    """What one written word contributes.

    Attributes:
        terms: Index terms, usually one; none for stop words.
        marks: Combination of the ``MARK_*`` bits.
        folded: The word casefolded, without accents.
    """

    terms: tuple[str, ...]
    marks: int
    folded: str

    @property
    def month(self) -> int:
        """1 to 12 for a month name, else 0."""
        return WORD_MONTHS.get(self.folded, 0)


class WordMemo(dict[str, WordEntry]):
    """Entries by word, made when they are first asked for.

    Bounded in bytes (estimated from the number of terms): two generations, the older one is dropped
    when the younger one is full. Words with a number behind a hyphen ("ticket-4711") are made each
    time: that is quick, few of them come again, and remembered they would crowd out the rest. Safe
    across threads: a lost race costs making an entry again,
    never a wrong one.

    Args:
        make: From word to entry; pure.
        most_bytes: Bound on both generations together.
    """

    __slots__ = ("_bytes", "_half", "_make", "_old")

    def __init__(self, make: Callable[[str], WordEntry], most_bytes: int) -> None:
        super().__init__()
        self._make = make
        self._half = most_bytes // 2
        self._bytes = 0
        self._old: dict[str, WordEntry] = {}

    def __missing__(self, word: str) -> WordEntry:
        entry = self._old.get(word) or self._make(word)
        numbered = word[-1].isdigit() and "-" in word and word[0].isalpha()
        if len(word) <= WORD_LONGEST and not numbered:
            self._bytes += _MEMO_ENTRY_BYTES + _MEMO_TERM_BYTES * len(entry.terms)
            if self._bytes > self._half:
                self._old, self._bytes = dict(self), 0
                self.clear()
            self[word] = entry
        return entry
