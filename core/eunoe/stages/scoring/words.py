"""From text to index terms, for any script.

A word is looked up once in a memo and then costs one dictionary access. Latin words are folded
(NFKC, casefold, accents) and stemmed; identifiers, paths, addresses and dotted names give the whole
and their parts; scripts without spaces give n-grams; stop words give no term, only a mark.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from eunoe.domain.scripts import ABUGIDA_LETTERS, HAN_KANA_LETTERS, HANGUL_LETTERS, JOINING_MARKS
from eunoe.stages.scoring.folding import fold_text
from eunoe.stages.scoring.script_stems import stem_script
from eunoe.stages.scoring.stemming import stem_english, stem_light
from eunoe.stages.scoring.word_memo import WORD_LONGEST, WordEntry, WordMemo
from eunoe.stages.scoring.word_splitting import split_words
from eunoe.stages.scoring.word_tables import (
    MARK_ANAPHOR,
    MARK_CAPITAL,
    MARK_DATED,
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

_WORD_NGRAM_RUN = re.compile(
    f"([{ABUGIDA_LETTERS}]+)|([{HAN_KANA_LETTERS}]+)|([{HANGUL_LETTERS}]+)"
)
_WORD_PARTS = re.compile(rf"(?:[^\W\d_]|(?!\d)[{JOINING_MARKS}])++|\d+(?:[.,]\d+)*")
_WORD_LETTERS = re.compile(rf"(?:[^\W\d_]|(?!\d)[{JOINING_MARKS}])++")
_WORD_PARTS_SMALL = re.compile(r"[a-z]++|[0-9]++(?:[.,][0-9]++)*+")
_WORD_CAMEL = re.compile(
    r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])"
)
_WORD_HUMP_ASCII = re.compile(r"[a-z][A-Z]|[A-Z][A-Z][a-z]|[A-Za-z][0-9]|[0-9][A-Za-z]")
_WORD_SIGN = re.compile(r"[._/\\:@+#&]")
_WORD_DIGIT = re.compile(r"[0-9]")
_WORD_DATED = re.compile(r"(?:19|20)\d\d|月")
_WORD_YEAR = re.compile(r"(?:19|20)\d\d")
_WORD_DIGIT_MARKS = MARK_NUMBER | MARK_DIGIT
_WORD_DATED_MARKS = _WORD_DIGIT_MARKS | MARK_DATED
_WORD_MEMO_BYTES = 16_000_000


def _word_fixed_marks() -> dict[str, int]:
    """Marks of the words in the tables."""
    marks: dict[str, int] = {}
    for mark, table in (
        (MARK_TIME, WORD_TIME),
        (MARK_NUMBER, WORD_NUMERALS),
        (MARK_FIRST_PERSON, WORD_FIRST),
        (MARK_SECOND_PERSON, WORD_SECOND),
        (MARK_ANAPHOR, WORD_ANAPHORS),
        (MARK_PLACE, WORD_PLACES),
        (MARK_QUESTION_WORD, WORD_QUESTIONS),
        (MARK_STANDING, WORD_STANDING),
        (MARK_STOP, WORD_ANY_STOP),
        (MARK_MONTH, WORD_MONTHS),
        (MARK_TIME, [month for month in WORD_MONTHS if len(month) > 3]),
    ):
        for word in table:
            marks[word] = marks.get(word, 0) | mark
    for month in ("march", "mars", "mart", "maja", "marca"):
        marks[month] &= ~MARK_TIME
    return marks


_WORD_FIXED_MARKS = _word_fixed_marks()


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
        return stem_english(folded) if folded.isalpha() else folded[:WORD_LONGEST]
    return stem_script(folded)[:WORD_LONGEST]


def _word_piece_terms(piece: str) -> Sequence[str]:
    """Terms of a run of letters, or of a number, inside a word."""
    if piece.isascii():
        if piece.islower():
            return _word_memo[piece][0] if len(piece) > 1 else ()
        if not piece[0].isalpha():
            return (piece[:WORD_LONGEST],)
    terms: list[str] = []
    for sub in _WORD_CAMEL.split(piece):
        folded = fold_text(sub)
        if folded.isascii() and folded.isalpha():
            terms += _word_memo[folded][0] if len(sub) > 1 else ()
        elif (term := _word_simple_term(folded)) and (len(sub) > 1 or sub.isdigit()):
            terms.append(term)
    return terms


def _word_compound(word: str, folded: str) -> tuple[tuple[str, ...], bool]:
    """Whole and parts of an identifier, path, address, hyphenated or dotted word."""
    parts: list[str] = []
    for piece in _WORD_PARTS.findall(word):
        parts += _word_piece_terms(piece)
    identifier = _WORD_SIGN.search(word) is not None and "'" not in word and "’" not in word
    whole = folded[:WORD_LONGEST]
    if parts != [whole] and (len(parts) > 1 or identifier or "-" not in word):
        parts.append(whole)
    return tuple(parts), identifier


def _word_marks(word: str, folded: str) -> int:
    marks = _WORD_FIXED_MARKS.get(folded, 0)
    if not folded.isalpha() and (
        _WORD_DIGIT.search(folded) or (not folded.isascii() and any(c.isdigit() for c in folded))
    ):
        marks |= _WORD_DIGIT_MARKS
        if len(folded) == 4 and _WORD_YEAR.match(folded):
            marks |= MARK_TIME
    return marks | MARK_CAPITAL if word[0].isupper() else marks


def _word_make_small(word: str) -> WordEntry:
    """`_word_make` for words of small ASCII letters (at least one), digits and signs, no quote."""
    if word.isalpha():
        marks = _WORD_FIXED_MARKS.get(word, 0)
        return () if marks & MARK_STOP else (stem_english(word),), marks, word
    head, _, tail = word.partition("-")
    if tail.isdigit() and head.isalpha() and len(word) <= WORD_LONGEST:
        known = _word_memo[head][0] if len(head) > 1 else ()
        dated = ("19" in tail or "20" in tail) and _WORD_DATED.search(tail)
        marks = _WORD_DATED_MARKS if dated else _WORD_DIGIT_MARKS
        return (*known, tail, word) if known else (tail,), marks, word
    terms: list[str] = []
    marks = 0
    for piece in _WORD_PARTS_SMALL.findall(word):
        if piece < "a":
            marks = _WORD_DIGIT_MARKS
            terms.append(piece[:WORD_LONGEST])
        elif len(piece) > 1:
            terms += _word_memo[piece][0]
    identifier = _WORD_SIGN.search(word) is not None
    if marks and _WORD_DATED.search(word):
        marks = _WORD_DATED_MARKS
    if identifier or (marks and _WORD_HUMP_ASCII.search(word)):
        marks |= MARK_IDENTIFIER
    whole = word[:WORD_LONGEST]
    if (len(terms) > 1 or identifier or "-" not in word) and terms != [whole]:
        terms.append(whole)
    return tuple(terms), marks, word


def _word_make(word: str) -> WordEntry:
    if word.isascii() and word.islower() and "'" not in word and len(word) <= 4 * WORD_LONGEST:
        return _word_make_small(word)
    plain = word.isascii() and word.isalpha()
    dated = MARK_DATED if not plain and _WORD_DATED.search(word) else 0
    if len(word) > 4 * WORD_LONGEST and not _WORD_NGRAM_RUN.search(word):
        word = word[: 4 * WORD_LONGEST]
    folded = fold_text(word)
    if folded == word:
        folded = word  # one string, not two
    if folded.endswith(("'s", "'")):
        folded = folded.rstrip("s").rstrip("'")
    marks = _word_marks(word, folded) | dated
    marks = _word_shared_marks.setdefault(marks, marks)
    if marks & MARK_STOP:
        return (), marks, folded
    if not folded.isascii() and _WORD_NGRAM_RUN.search(folded):
        return _word_script_terms(folded), marks, folded
    hump = (_WORD_HUMP_ASCII if word.isascii() else _WORD_CAMEL).search(word) is not None
    if word.isdigit() or (not hump and (plain or _WORD_LETTERS.fullmatch(folded))):
        term = _word_simple_term(folded)
        return (term,) if term else (), marks, folded
    terms, identifier = _word_compound(word, folded)
    if identifier or hump:
        marks |= MARK_IDENTIFIER
    return terms, marks, folded


_word_shared_marks: dict[int, int] = {}
_word_memo = WordMemo(_word_make, _WORD_MEMO_BYTES)


def look_up_word(word: str) -> WordEntry:
    """Entry of a written word, memoised."""
    return _word_memo[word]


def look_up_words(words: list[str]) -> list[WordEntry]:
    """Entries of many words, in order."""
    return list(map(_word_memo.__getitem__, words))


def terms_of_text(text: str) -> list[str]:
    """Index terms of all words of a text, in order."""
    return [term for terms, _, _ in look_up_words(split_words(text)) for term in terms]


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


def speaks_english(text: str) -> bool:
    """Whether a text has English stop words, and no language has more of its own."""
    folded = [word for _, _, word in look_up_words(split_words(text))]
    return not WORD_STOP_OF["en"].isdisjoint(folded) and guess_language(folded) == "en"


@lru_cache(maxsize=20_000)
def _word_light_stem(word: str, language: str) -> str:
    """The light stem of a word, empty if it is the English one too."""
    stem = stem_light(word, language)
    return stem if stem != stem_english(word) else ""


def language_terms(folded: list[str], language: str) -> list[str]:
    """Further terms of a text in a language other than English: light stems that differ."""
    stops = WORD_STOP_OF.get(language)
    if stops is None or language == "en":
        return []
    found = [
        _word_light_stem(word, language)
        for word in folded
        if word not in stops and word.isascii() and word.isalpha()
    ]
    return [stem for stem in found if stem]
