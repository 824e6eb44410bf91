"""Memory of written words: what each contributes, made once."""

from __future__ import annotations

from collections.abc import Callable

WORD_LONGEST = 80
"""Characters of a term, and of a word that is remembered, at most."""

_MEMO_ENTRY_BYTES = 320
_MEMO_TERM_BYTES = 100


WordEntry = tuple[tuple[str, ...], int, str]
"""What one written word contributes: its index terms, usually one, none for stop words; the
combination of its ``MARK_*`` bits; the word casefolded, without accents. A bare tuple, since one is
made or read for every word of a chat."""


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
        if "-" in word and word[-1].isdigit() and word[0].isalpha():
            return self._make(word)
        entry = self._old.get(word) or self._make(word)
        if len(word) <= WORD_LONGEST:
            self._bytes += _MEMO_ENTRY_BYTES + _MEMO_TERM_BYTES * len(entry[0])
            if self._bytes > self._half:
                self._old, self._bytes = dict(self), 0
                self.clear()
            self[word] = entry
        return entry
