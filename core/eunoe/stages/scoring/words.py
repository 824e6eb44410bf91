"""From text to index terms, for any script.

A word is looked up once in a memo and then costs one dictionary access. Latin words are folded
(NFKC, casefold, accents) and stemmed; identifiers, paths, addresses and dotted names give the whole
and their parts; scripts without spaces give n-grams; stop words give no term, only a mark.
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

from eunoe.stages.scoring.stemming import stem_english, stem_light
from eunoe.stages.scoring.word_tables import (
    MARK_ANAPHOR,
    MARK_CAPITAL,
    MARK_DIGIT,
    MARK_FIRST_PERSON,
    MARK_IDENTIFIER,
    MARK_MONTH,
    MARK_NUMBER,
    MARK_PLACE,
    MARK_QUESTION_WORD,
    MARK_SECOND_PERSON,
    MARK_STANDING,
    MARK_STOP,
    MARK_TIME,
    WORD_ANAPHORS,
    WORD_ANY_STOP,
    WORD_FIRST,
    WORD_LANGUAGES,
    WORD_MONTHS,
    WORD_NUMERALS,
    WORD_PLACES,
    WORD_QUESTIONS,
    WORD_SECOND,
    WORD_STANDING,
    WORD_STOP_OF,
    WORD_TIME,
)

# Scripts written without spaces; Hangul has spaces but glued particles.
_WORD_NGRAM_RUN = re.compile(
    "([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]+)"
    "|([\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff々]+)"
    "|([\uac00-\ud7af]+)"
)
_WORD_PATTERN = re.compile(
    "\\w[\\w\u0300-\u036f\u0591-\u05c7\u064b-\u0652\u0900-\u097f\u0e30-\u0e4e]*"
    "(?:['’.\\-_/\\\\:@+#&]+\\w[\\w\u0900-\u097f]*)*"
)
_WORD_PATTERN_ASCII = re.compile(r"[A-Za-z0-9_]+(?:['.\-/\\:@+#&]+[A-Za-z0-9_]+)*")
_WORD_PARTS = re.compile(r"[^\W\d_]+|\d+(?:[.,]\d+)*")
_WORD_CAMEL = re.compile(
    r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])"
)
_WORD_MEMO_LIMIT = 200_000
_WORD_LONGEST = 80


_WORD_YEAR = re.compile(r"(?:19|20)\d\d")
_WORD_MARK_TABLES = (
    (MARK_TIME, WORD_TIME),
    (MARK_NUMBER, WORD_NUMERALS),
    (MARK_FIRST_PERSON, WORD_FIRST),
    (MARK_SECOND_PERSON, WORD_SECOND),
    (MARK_ANAPHOR, WORD_ANAPHORS),
    (MARK_PLACE, WORD_PLACES),
    (MARK_QUESTION_WORD, WORD_QUESTIONS),
    (MARK_STANDING, WORD_STANDING),
)


class WordEntry(NamedTuple):
    """What one written word contributes.

    Attributes:
        terms: Index terms, usually one; none for stop words.
        marks: Combination of the ``MARK_*`` bits.
        month: 1 to 12 for a month name, else 0.
        folded: The word casefolded, without accents.
    """

    terms: tuple[str, ...]
    marks: int
    month: int
    folded: str


_word_memo: dict[str, WordEntry] = {}


def fold_text(text: str) -> str:
    """Fold width, case and accents; marks of Indic and Thai scripts stay."""
    if text.isascii():
        return text.lower()
    text = unicodedata.normalize("NFKC", text).casefold().replace("’", "'")
    if text.isascii():
        return text
    decomposed = unicodedata.normalize("NFD", text)
    kept = "".join(
        c
        for c in decomposed
        if not ("\u0300" <= c <= "\u036f" or "\u0591" <= c <= "\u05c7" or "\u064b" <= c <= "\u065f")
        or c == "\u0306"
    )
    return unicodedata.normalize("NFC", kept)


def _word_ngrams(run: str, smallest: int, largest: int) -> list[str]:
    if len(run) <= smallest:
        return [run]
    return [run[i : i + n] for n in range(smallest, largest + 1) for i in range(len(run) - n + 1)]


def _word_script_terms(folded: str) -> tuple[str, ...]:
    """Terms of a word that holds letters of scripts without spaces (or Hangul)."""
    terms: list[str] = []
    last = 0
    for found in _WORD_NGRAM_RUN.finditer(folded):
        if found.start() > last:
            terms.extend(_word_part_terms(folded[last : found.start()]))
        run = found.group()
        if found.group(2):
            terms.extend(_word_ngrams(run, 1, 2))
        else:
            terms.extend(_word_ngrams(run, 2, 3) if found.group(1) else _word_ngrams(run, 2, 2))
        last = found.end()
    if last < len(folded):
        terms.extend(_word_part_terms(folded[last:]))
    return tuple(terms)


def _word_part_terms(folded: str) -> list[str]:
    out: list[str] = []
    for part in _WORD_PARTS.findall(folded):
        term = _word_simple_term(part)
        if term:
            out.append(term)
    return out


def _word_simple_term(folded: str) -> str:
    """The one term of a plain folded word, or an empty string."""
    if folded in WORD_ANY_STOP:
        return ""
    if folded.isascii():
        return stem_english(folded) if folded.isalpha() else folded[:_WORD_LONGEST]
    if "\u0400" <= folded[0] <= "\u04ff":
        return stem_light(folded, "ru")
    if "\u0621" <= folded[0] <= "\u064a" and len(folded) > 4 and folded.startswith("ال"):
        return folded[2:]
    if "\u05d0" <= folded[0] <= "\u05ea" and len(folded) > 4 and folded[0] in "הבלומשכ":
        return folded[1:]
    return folded[:_WORD_LONGEST]


def _word_compound(word: str, folded: str) -> tuple[list[str], bool]:
    """Whole and parts of an identifier, path, address, hyphenated or dotted word."""
    parts: list[str] = []
    pieces = [p for p in _WORD_PARTS.findall(word) if p]
    for piece in pieces:
        for sub in _WORD_CAMEL.split(piece):
            term = _word_simple_term(fold_text(sub))
            if term and (len(sub) > 1 or sub.isdigit()):
                parts.append(term)
    whole = folded[:_WORD_LONGEST]
    identifier = not (set(word) & {"'", "’"}) and any(c in "._/\\:@#+&" for c in word)
    hyphen_only = not identifier and "-" in word
    if parts != [whole] and not (hyphen_only and len(parts) < 2):
        parts.append(whole)
    return parts, identifier


def _word_marks(word: str, folded: str, month: int) -> int:
    marks = 0
    if month:
        marks |= MARK_MONTH
        if len(folded) > 3 and folded not in ("march", "mars"):
            marks |= MARK_TIME
    for mark, table in _WORD_MARK_TABLES:
        if folded in table:
            marks |= mark
    if any(c.isdigit() for c in folded):
        marks |= MARK_NUMBER | MARK_DIGIT
        if _WORD_YEAR.fullmatch(folded):
            marks |= MARK_TIME
    return marks | MARK_CAPITAL if word[0].isupper() else marks


def _word_is_plain(word: str) -> bool:
    """Whether a word is only letters or only digits, without a hump inside."""
    if word.isdigit():
        return True
    return word.isalpha() and _WORD_CAMEL.search(word) is None


def _word_make(word: str) -> WordEntry:
    if len(word) > 4 * _WORD_LONGEST and not _WORD_NGRAM_RUN.search(word):
        word = word[: 4 * _WORD_LONGEST]
    folded = fold_text(word)
    if folded.endswith(("'s", "'")):
        folded = folded.rstrip("s").rstrip("'")
    month = WORD_MONTHS.get(folded, 0)
    marks = _word_marks(word, folded, month)
    if folded in WORD_ANY_STOP:
        return WordEntry((), marks | MARK_STOP, month, folded)
    if not folded.isascii() and _WORD_NGRAM_RUN.search(folded):
        return WordEntry(_word_script_terms(folded), marks, month, folded)
    if _word_is_plain(word) or (folded.isalpha() and _WORD_CAMEL.search(word) is None):
        term = _word_simple_term(folded)
        return WordEntry((term,) if term else (), marks, month, folded)
    terms, identifier = _word_compound(word, folded)
    if identifier or _WORD_CAMEL.search(word):
        marks |= MARK_IDENTIFIER
    return WordEntry(tuple(terms), marks, month, folded)


def look_up_word(word: str) -> WordEntry:
    """Entry of a written word, memoised (the memo is emptied at 200,000 words)."""
    entry = _word_memo.get(word)
    if entry is None:
        entry = _word_make(word)
        if len(word) <= _WORD_LONGEST:
            if len(_word_memo) >= _WORD_MEMO_LIMIT:
                _word_memo.clear()
            _word_memo[word] = entry
    return entry


def look_up_words(words: list[str]) -> list[WordEntry]:
    """Entries of many words, in order."""
    known = _word_memo.get
    return [known(word) or look_up_word(word) for word in words]


def split_words(text: str) -> list[str]:
    """Written words in order; identifiers, paths and dotted names stay whole."""
    pattern = _WORD_PATTERN_ASCII if text.isascii() else _WORD_PATTERN
    return pattern.findall(text)


def guess_language(folded: list[str]) -> str:
    """Language of a list of folded words by its stop words.

    Returns:
        One of ``de fr es pt it nl``, or ``"en"`` when none of them has at least two stop words
        and more than English has.
    """
    words = set(folded)
    best, language = len(words & WORD_STOP_OF["en"]), "en"
    for candidate in WORD_LANGUAGES:
        hits = len(words & WORD_STOP_OF[candidate])
        if hits >= 2 and hits > best:
            best, language = hits, candidate
    return language


def language_terms(folded: list[str], language: str) -> list[str]:
    """Further terms of a text in a language other than English: light stems that differ."""
    stops = WORD_STOP_OF.get(language)
    if stops is None or language == "en":
        return []
    out: list[str] = []
    for word in folded:
        if word in stops or not word.isascii() or not word.isalpha():
            continue
        stem = stem_light(word, language)
        if stem != stem_english(word):
            out.append(stem)
    return out
