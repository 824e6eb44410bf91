"""Where a text may be cut: never inside what people see as one character.

Source: Unicode Standard Annex 29, grapheme cluster boundaries (rules GB3, GB6 to GB9c, GB11 to
GB13), by the categories of ``unicodedata``; characters that join to the one behind them, such as
the Arabic number signs, are left out.
"""

from __future__ import annotations

import unicodedata

_GRAPHEME_JOINERS = "\u200c\u200d\ufe0e\ufe0f\u20e3\uff9e\uff9f\u0e33\u0eb3"
_CONJUNCT_SIGNS = "\u094d\u09cd\u0acd\u0b4d\u0c4d\u0d4d"
"""Signs that join two consonants into one shape: Devanagari to Malayalam."""


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
    if _joins_syllable(before, after) or _joins_consonants(text, place):
        return True
    if "\U000e0020" <= after <= "\U000e007f" or (before == "\r" and after == "\n"):
        return True
    if "\U0001f1e6" <= after <= "\U0001f1ff" and "\U0001f1e6" <= before <= "\U0001f1ff":
        start = place
        while start and "\U0001f1e6" <= text[start - 1] <= "\U0001f1ff":
            start -= 1
        return (place - start) % 2 == 1
    return False


def _joins_syllable(before: str, after: str) -> bool:
    """Whether both are of one Hangul syllable that is written in its letters."""
    if "\u1160" <= after <= "\u11ff" or "\ud7b0" <= after <= "\ud7fb":  # vowels and finals
        return _is_hangul(before)
    leads = "\u1100" <= before <= "\u115f" or "\ua960" <= before <= "\ua97c"
    return leads and _is_hangul(after)


def _is_hangul(character: str) -> bool:
    return (
        "\u1100" <= character <= "\u11ff"
        or "\ua960" <= character <= "\ua97c"
        or "\uac00" <= character <= "\ud7fb"
    )


def _joins_consonants(text: str, place: int) -> bool:
    """Whether a conjunct sign stands between the letter before the cut and the one behind it."""
    if unicodedata.category(text[place]) != "Lo":
        return False
    k = place - 1
    while k > 0 and text[k] in "\u200d\u093c\u09bc\u0abc\u0b3c\u0c3c":
        k -= 1
    sign = text[k]
    return sign in _CONJUNCT_SIGNS and ord(sign) & ~0x7F == ord(text[place]) & ~0x7F
