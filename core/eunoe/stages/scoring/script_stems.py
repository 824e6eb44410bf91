"""Light stems of words in other alphabets than the Latin one: what inflection adds is taken off."""

from __future__ import annotations

from eunoe.stages.scoring.stemming import stem_light

_STEM_ARABIC_HEADS = ("وال", "فال", "بال", "كال", "ولل", "لل", "ال")
_STEM_ARABIC_TAILS = (
    "تهما", "تها", "تهم", "تنا", "تين", "هما", "ها", "هم", "نا", "كم", "ات", "ان", "ون", "ين",
    "ته", "تي", "تك", "يه", "ية", "ه", "ة", "ي", "ا",
)  # fmt: skip
_STEM_HEBREW_HEADS = "בלמשכ"
_STEM_HEBREW_TAILS = ("יהם", "ותי", "ים", "ות", "תי", "ה", "י")
_STEM_INDIC_TAILS = (
    "ियों", "ियाँ", "ियां", "ाओं", "ुओं", "ाएँ", "ाएं", "ों", "ें", "ीं", "ओं", "ा", "ी", "े", "ो", "ि", "ु", "ू",
)  # fmt: skip


def stem_script(word: str) -> str:
    """Stem of a folded word that is not of ASCII letters; others come back as they are."""
    first = word[0]
    if "\u0400" <= first <= "\u04ff":
        return stem_light(word, "ru")
    if "\u0621" <= first <= "\u064a":
        return _stem_arabic(word)
    if "\u05d0" <= first <= "\u05ea":
        return _stem_hebrew(word)
    if "\u0900" <= first <= "\u097f":
        return _without_tail(word, _STEM_INDIC_TAILS, 2)
    return word


def _without_tail(word: str, tails: tuple[str, ...], least: int) -> str:
    for tail in tails:
        if word.endswith(tail) and len(word) - len(tail) >= least:
            return word[: -len(tail)]
    return word


def _stem_arabic(word: str) -> str:
    """Without "and", the article, a plural, a possessive.

    Source of formula: the light stemmer of Larkey, Ballesteros and Connell (2002), tails extended
    by those that stand behind a feminine ending.
    """
    for head in _STEM_ARABIC_HEADS:
        if word.startswith(head) and len(word) - len(head) >= 3:
            word = word[len(head) :]
            break
    else:
        if word[0] == "و" and len(word) > 4:
            word = word[1:]
    return _without_tail(word, _STEM_ARABIC_TAILS, 3)


def _stem_hebrew(word: str) -> str:
    """Without "and", then the article or a letter of place, and a plural or feminine end.

    Those letters begin words of their own, so that shorter words keep them.
    """
    if word[0] == "ו" and len(word) > 4:
        word = word[1:]
    if (word[0] == "ה" and len(word) > 3) or (word[0] in _STEM_HEBREW_HEADS and len(word) > 5):
        word = word[1:]
    return _without_tail(word, _STEM_HEBREW_TAILS, 3)
