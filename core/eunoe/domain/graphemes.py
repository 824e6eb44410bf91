"""Where a text may be cut: never inside what people see as one character."""

from __future__ import annotations

import unicodedata

_GRAPHEME_JOINERS = "\u200d\ufe0e\ufe0f\u20e3"


def whole_grapheme(text: str, place: int, step: int) -> int:
    """Move a cut away from the inside of a grapheme: marks, joiners, modifiers, flags.

    Args:
        place: a cut before ``text[place]``.
        step: 1 moves it to the right, -1 to the left; 64 characters at most.
    """
    for _ in range(64):
        if not 0 < place < len(text) or not _inside_grapheme(text, place):
            return place
        place += step
    return place


def _inside_grapheme(text: str, place: int) -> bool:
    after, before = text[place], text[place - 1]
    if after in _GRAPHEME_JOINERS or before == "\u200d" or unicodedata.combining(after):
        return True
    if unicodedata.category(after) in ("Mn", "Me", "Mc") or "\U0001f3fb" <= after <= "\U0001f3ff":
        return True
    if "\U000e0020" <= after <= "\U000e007f" or (before == "\r" and after == "\n"):
        return True
    if "\U0001f1e6" <= after <= "\U0001f1ff" and "\U0001f1e6" <= before <= "\U0001f1ff":
        start = place
        while start and "\U0001f1e6" <= text[start - 1] <= "\U0001f1ff":
            start -= 1
        return (place - start) % 2 == 1
    return False
