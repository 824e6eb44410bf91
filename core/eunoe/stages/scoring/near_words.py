"""Words of a chat that are nearly one of the question: inflected, joined to another, mistyped.

No table knows every language, every name and every slip of the finger. Where a word of a question
is in no message as it stands, the words of the chat themselves show what it may be.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator

NEAR_MOST = 4
"""Words of a chat that stand for one of the question at most, the nearest first."""

_NEAR_LOOK = 64
_NEAR_STEM = 4
_NEAR_PART = 5
_NEAR_TYPO = 6
_NEAR_LONG = 8
_NEAR_VERY_LONG = 10


class NearWords:
    """The words of a growing chat, to be searched.

    They stand one after another in one string, which the search of a string is quick in.

    Args:
        held: Those that were added, by the time that they are searched: to look a whole one up.
    """

    def __init__(self, held: Container[str]) -> None:
        self._joined = "\n"
        self._size = 0
        self._held = held

    def __len__(self) -> int:
        return self._size

    def extend(self, words: Iterable[str]) -> None:
        """Add further words, each once."""
        more = list(words)
        self._size += len(more)
        self._joined += "".join([word + "\n" for word in more])

    def inflected(self, word: str, *, derived: bool = False) -> list[str]:
        """Words that begin as a word does and end otherwise, the most alike first.

        Four letters and three fifths of the longer one are shared, and what differs is no longer
        than an ending.

        Args:
            word: A term of a question.
            derived: Whether one must be all of the beginning of the other ("music", "musician"),
                since endings are taken off already ("convert" is no form of "converse").
        """
        if not _near_is_word(word, _NEAR_STEM):
            return []
        found: dict[str, int] = {}
        for other in self._around(word[:_NEAR_STEM], ""):
            shared = _near_shared(word, other)
            longest = max(len(word), len(other))
            ending = 2 if shared == _NEAR_STEM else 5
            if derived and shared < max(_NEAR_PART, min(len(word), len(other))):
                continue
            if other != word and 5 * shared >= 3 * longest and longest - shared <= ending:
                found[other] = shared - longest
        return sorted(found, key=lambda w: (-found[w], w))

    def joined(self, word: str) -> list[str]:
        """Words that are a word and another one in one ("insurance" in "Krankenversicherung").

        Either may be the longer one; an ending of two letters may differ.
        """
        if not _near_is_word(word, _NEAR_PART):
            return []
        core = word[:-2] if len(word) >= _NEAR_LONG else word
        found = [w for w in self._around("", core, inside=True) if _near_part(core, w)]
        for cut in range(_NEAR_PART, len(word) - 2):
            head = word[:cut]
            if head in self._held:
                found.append(head)
        for cut in range(3, len(word) - _NEAR_PART + 1):
            tail = word[cut:]
            if tail in self._held:
                found.append(tail)
        return sorted(set(found) - {word}, key=lambda w: (abs(len(w) - len(word)), w))

    def mistyped(self, word: str) -> list[str]:
        """Words that one slip parts from a word, or two from a very long one, the fewest first.

        Nobody mistypes the first letter, and short words that differ in a letter are two words
        ("state", "stage"): there a letter is left out, put in, or swapped with its neighbour.
        Its first letters or its last ones are as they should be.
        """
        if not _near_is_word(word, _NEAR_TYPO):
            return []
        most = 2 if len(word) >= _NEAR_VERY_LONG else 1
        half = len(word) // (most + 1)
        found: dict[str, int] = {}
        heads, tails = self._around(word[:half], ""), self._around("", word[-half:])
        for other in (*heads, *tails):
            if other[0] != word[0] or abs(len(other) - len(word)) > most or other in found:
                continue
            short = len(word) < _NEAR_LONG
            if short and len(other) == len(word) and sorted(other) != sorted(word):
                continue
            slips = near_slips(word, other, most)
            if 0 < slips <= most:
                found[other] = slips
        return sorted(found, key=lambda w: (found[w], w))

    def holding(self, parts: Iterable[str]) -> list[str]:
        """The first few words that hold one of some parts; a line break stands for a beginning."""
        found: dict[str, None] = {}
        for part in parts:
            at = self._joined.find(part)
            while at >= 0 and len(found) < _NEAR_LOOK:
                start = self._joined.rfind("\n", 0, at + 1) + 1
                end = self._joined.find("\n", start)
                found[self._joined[start:end]] = None
                at = self._joined.find(part, end)
        return list(found)

    def _around(self, head: str, tail: str, *, inside: bool = False) -> Iterator[str]:
        """The first few words with this head, or this tail; ``inside``: that hold the tail."""
        needle = "\n" + head if head else tail if inside else tail + "\n"
        text, at = self._joined, -1
        for _ in range(_NEAR_LOOK):
            at = text.find(needle, at + 1)
            if at < 0:
                return
            start = at + 1 if head else text.rfind("\n", 0, at) + 1
            at = text.find("\n", at + 1) if inside or head else at + len(tail)
            word = text[start:at]
            at -= 1
            if word.isalpha():
                yield word


def _near_is_word(word: str, least: int) -> bool:
    """Whether it is a word of letters that are not signs of whole syllables, and long enough."""
    return len(word) >= least and word.isalpha() and word[0] < "\u0e00"


def _near_shared(word: str, other: str) -> int:
    """Letters that two words have in common at their beginning."""
    for place, (a, b) in enumerate(zip(word, other, strict=False)):
        if a != b:
            return place
    return min(len(word), len(other))


def _near_part(core: str, word: str) -> bool:
    """Whether a word is another one before or behind a part; three letters are none."""
    place = word.find(core)
    behind = len(word) - place - len(core)
    return (place >= 3 and behind <= 5) or (place == 0 and behind >= 3)


def near_slips(word: str, other: str, most: int) -> int:
    """Letters put in, left out, changed or swapped between two words; ``most + 1`` if more.

    Source of formula: restricted Damerau-Levenshtein distance.
    """
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(word, 1):
        older, before, row = before, row, [i]
        for j, sign in enumerate(other, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != sign))
            if i > 1 and j > 1 and letter == other[j - 2] and word[i - 2] == sign:
                cost = min(cost, older[j - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return most + 1
    return min(row[-1], most + 1)
