"""One writing for what people write in several ways: width, case, accents, letters with strokes."""

from __future__ import annotations

import unicodedata

# Letters that no decomposition takes apart, as people write them without the key for it, and the
# vowel sign that Arabic writes as a letter of its own.
_FOLD_LETTERS = str.maketrans(
    {"đ": "d", "ł": "l", "ø": "o", "ı": "i", "æ": "ae", "œ": "oe", "ħ": "h", "ð": "d", "þ": "th",
     "ŋ": "n", "ё": "е", "ґ": "г", "ى": "ي", "ـ": None, "ک": "ك", "ی": "ي"}
)  # fmt: skip


def fold_text(text: str) -> str:
    """Fold width, case and accents; marks of Indic and Thai scripts stay."""
    if text.isascii():
        return text.lower()
    text = unicodedata.normalize("NFKC", text).casefold().replace("’", "'")
    if text.isascii():
        return text
    decomposed = unicodedata.normalize("NFD", text.translate(_FOLD_LETTERS))
    kept = "".join(
        c
        for c in decomposed
        if not ("\u0300" <= c <= "\u036f" or "\u0591" <= c <= "\u05c7" or "\u064b" <= c <= "\u065f")
        or c == "\u0306"
    )
    return unicodedata.normalize("NFC", kept)
