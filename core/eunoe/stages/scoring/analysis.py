"""What scoring needs to know of one text, found once per content.

Pure: the same text, role and name give the same analysis in any process, so it may be cached by
content for ever.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from eunoe.stages.scoring.cues import find_cues, question_kind
from eunoe.stages.scoring.dates import CalendarDate, day_number, find_clock, find_dates
from eunoe.stages.scoring.words import (
    MARK_ANAPHOR,
    MARK_CAPITAL,
    MARK_FIRST_PERSON,
    MARK_IDENTIFIER,
    MARK_MONTH,
    MARK_NUMBER,
    MARK_SECOND_PERSON,
    MARK_TIME,
    fold_text,
    guess_language,
    language_terms,
    look_up_word,
    split_words,
)

ANALYSIS_CHARACTERS = 200_000
"""Characters looked at, at each end of a longer text."""

_ANALYSIS_STAMP = re.compile(r"\s*[\[(]([^\])\n]{4,48})[\])]\s*")
_ANALYSIS_SPEAKER = re.compile(r"\s*([^\W\d_][\w.'’\-]*(?: [^\W\d_][\w.'’\-]*){0,2}): ")
_ANALYSIS_DATE_MARKS = MARK_NUMBER | MARK_MONTH


@dataclass(frozen=True, slots=True)
class TextAnalysis:
    """Terms and facts of one message.

    Attributes:
        terms: Distinct index terms in order of first use.
        counts: How often each occurs, same length as `terms`.
        length: Sum of `counts`.
        role: Role as given, lower case.
        speaker: Folded name of who speaks, from `name` or a ``Name: `` prefix; may be empty.
        stamp: Minutes since 1 January of year 1 of a ``[date]`` prefix, 0 when there is none.
        dates: Dates in the body, 0 for what is not said in them.
        entities: Names, identifiers, paths and addresses in order of first use, folded.
        numbers: Words with digits and numerals.
        times: Words of time (weekdays, "yesterday", "ago", years).
        words: Written words.
        marks: Combination of the ``MARK_*`` bits of all words.
        cues: Combination of the ``CUE_*`` bits.
        kind: Question type: ``when how_many who where what_value yes_no other`` or empty.
        is_question: Whether the text asks something.
    """

    terms: tuple[str, ...]
    counts: tuple[int, ...]
    length: int
    role: str
    speaker: str
    stamp: int
    dates: tuple[CalendarDate, ...]
    entities: tuple[str, ...]
    numbers: int
    times: int
    words: int
    marks: int
    cues: int
    kind: str
    is_question: bool


def _analysis_head(text: str, name: str | None) -> tuple[str, int, str]:
    """Split "[date] Name: body" into body, stamp and speaker."""
    stamp, speaker = 0, fold_text(name).strip() if name else ""
    found = _ANALYSIS_STAMP.match(text) if text[:8].lstrip()[:1] in ("[", "(") else None
    if found:
        dates = find_dates(found.group(1))
        days = day_number(dates[0]) if dates else 0
        if days:
            stamp = days * 1440 + max(0, find_clock(found.group(1)))
            text = text[found.end() :]
    named = _ANALYSIS_SPEAKER.match(text, 0, 80)
    if named:
        prefix = fold_text(named.group(1))
        if prefix == speaker or (not speaker and named.group(1).istitle()):
            speaker = prefix
            text = text[named.end() :]
    return text, stamp, speaker


def analyse_text(text: str, *, role: str, name: str | None = None) -> TextAnalysis:
    """Analyse one message.

    Args:
        text: Its whole text. Of a text longer than 400,000 characters the first and the last
            200,000 are read.
        role: Role of the message.
        name: The message's ``name``, when it has one.

    Returns:
        The analysis; cost is linear in the characters read.
    """
    if len(text) > 2 * ANALYSIS_CHARACTERS:
        text = text[:ANALYSIS_CHARACTERS] + "\n" + text[-ANALYSIS_CHARACTERS:]
    body, stamp, speaker = _analysis_head(text, name)
    counts: dict[str, int] = {}
    entities: dict[str, None] = {}
    folded: list[str] = []
    marks = numbers = times = 0
    last_capital = ""
    words = split_words(body)
    for word in words:
        terms, mark, _, plain = look_up_word(word)
        folded.append(plain)
        for term in terms:
            counts[term] = counts.get(term, 0) + 1
        if mark:
            marks |= mark
            if mark & MARK_NUMBER:
                numbers += 1
            if mark & MARK_TIME:
                times += 1
            if terms and mark & (MARK_CAPITAL | MARK_IDENTIFIER):
                if mark & MARK_IDENTIFIER or len(plain) > 2:
                    entities[plain] = None
                if mark & MARK_CAPITAL and last_capital:
                    entities[last_capital + " " + plain] = None
                last_capital = plain if mark & MARK_CAPITAL else ""
                continue
        last_capital = ""
    if not body.isascii() or not marks & MARK_CAPITAL or len(words) > 3:
        language = guess_language(folded)
        if language != "en":
            for term in language_terms(folded, language):
                counts[term] = counts.get(term, 0) + 1
    is_question, kind = question_kind(body, folded)
    return TextAnalysis(
        terms=tuple(counts),
        counts=tuple(counts.values()),
        length=sum(counts.values()),
        role=role.lower(),
        speaker=speaker,
        stamp=stamp,
        dates=find_dates(body) if marks & _ANALYSIS_DATE_MARKS and len(body) < 20_000 else (),
        entities=tuple(entities)[:256],
        numbers=numbers,
        times=times,
        words=len(words),
        marks=marks,
        cues=find_cues(body, marks & MARK_ANAPHOR != 0),
        kind=kind,
        is_question=is_question,
    )


def speaks_of_first_person(analysis: TextAnalysis) -> bool:
    """Whether the text says "I", "my", "we"."""
    return bool(analysis.marks & MARK_FIRST_PERSON)


def speaks_of_second_person(analysis: TextAnalysis) -> bool:
    """Whether the text says "you", "your"."""
    return bool(analysis.marks & MARK_SECOND_PERSON)
