"""What scoring needs to know of one text, found once per content.

Pure: the same text, role and name give the same analysis in any process, so it may be cached by
content for ever.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from itertools import chain

from eunoe.stages.scoring.cues import is_question, is_standing
from eunoe.stages.scoring.dates import CalendarDate, day_number, find_clock, find_dates
from eunoe.stages.scoring.word_tables import (
    MARK_CAPITAL,
    MARK_DIGIT,
    MARK_IDENTIFIER,
    MARK_MONTH,
    MARK_NUMBER,
    MARK_STANDING,
    MARK_STOP,
    MARK_TIME,
)
from eunoe.stages.scoring.words import (
    WordEntry,
    fold_text,
    guess_language,
    language_terms,
    look_up_words,
    split_words,
)

ANALYSIS_CHARACTERS = 200_000
"""Characters looked at, at each end of a longer text."""

_ANALYSIS_ASKED = 2_000
_ANALYSIS_ENTITIES = 256
_ANALYSIS_DATED = 20_000
_ANALYSIS_STAMP = re.compile(r"\s*[\[(]([^\])\n]{4,48})[\])]\s*")
_ANALYSIS_SPEAKER = re.compile(r"\s*([^\W\d_][\w.'’\-]*(?: [^\W\d_][\w.'’\-]*){0,2}): ")
_ANALYSIS_VOCATIVE = re.compile(
    r"\s*(?:hey|hi|hello|thanks|thank you|good (?:morning|evening|afternoon)|dear|hallo|hola|salut"
    r"|ciao|привет)[,!]?\s+([^\W\d_]+)\b",
    re.IGNORECASE,
)
_ANALYSIS_NAME_MARKS = MARK_CAPITAL | MARK_IDENTIFIER
_ANALYSIS_DATE_MARKS = MARK_DIGIT | MARK_MONTH


@dataclass(frozen=True, slots=True)
class TextAnalysis:
    """Terms and facts of one message.

    Attributes:
        terms: Distinct index terms in order of first use.
        counts: How often each occurs, same length as `terms`.
        length: Sum of `counts`.
        role: Role as given, lower case.
        speaker: Folded name of who speaks, from `name` or a ``Name: `` prefix; may be empty.
        addressed: Folded name that a greeting at the start calls, may be empty.
        stamp: Minutes since 1 January of year 1 of a ``[date]`` prefix, 0 when there is none.
        dates: Dates in the body, 0 for what is not said in them.
        entities: Names, identifiers, paths and addresses in order of first use, folded.
        numbers: Words with digits, and numerals.
        times: Words of time (weekdays, "yesterday", "ago", years) and dates.
        words: Written words.
        marks: Combination of the ``MARK_*`` bits of all words.
        asks: Whether the text asks something.
        standing: Whether it sets a rule or names a preference.
        asked: Text of a user message to read cues from (at most 4,000 characters), else empty.
    """

    terms: tuple[str, ...]
    counts: tuple[int, ...]
    length: int
    role: str
    speaker: str
    addressed: str
    stamp: int
    dates: tuple[CalendarDate, ...]
    entities: tuple[str, ...]
    numbers: int
    times: int
    words: int
    marks: int
    asks: bool
    standing: bool
    asked: str


def split_stamp(text: str) -> tuple[str, int]:
    """Split "[date] body" into body and stamp (minutes since 1 January of year 1, 0 for none)."""
    found = _ANALYSIS_STAMP.match(text) if text[:8].lstrip()[:1] in ("[", "(") else None
    if found:
        dates = find_dates(found.group(1))
        days = day_number(dates[0]) if dates else 0
        if days:
            return text[found.end() :], days * 1440 + max(0, find_clock(found.group(1)))
    return text, 0


def _analysis_head(text: str, name: str | None) -> tuple[str, int, str]:
    """Split "[date] Name: body" into body, stamp and speaker."""
    speaker = fold_text(name).strip() if name else ""
    text, stamp = split_stamp(text)
    named = _ANALYSIS_SPEAKER.match(text, 0, 80)
    if named:
        prefix = fold_text(named.group(1))
        if prefix == speaker or (not speaker and stamp and named.group(1)[:1].isupper()):
            speaker = prefix
            text = text[named.end() :]
    return text, stamp, speaker


def _analysis_addressed(body: str) -> str:
    found = _ANALYSIS_VOCATIVE.match(body, 0, 60)
    return fold_text(found.group(1)) if found and found.group(1)[0].isupper() else ""


def _analysis_asked(body: str) -> str:
    if len(body) <= 2 * _ANALYSIS_ASKED:
        return body
    return body[:_ANALYSIS_ASKED] + "\n" + body[-_ANALYSIS_ASKED:]


def _analysis_entities(entries: list[WordEntry]) -> tuple[str, ...]:
    """Names, identifiers, and pairs of capitalised words side by side."""
    found: dict[str, None] = {}
    before, place = "", -2
    for position, entry in enumerate(entries):
        if not entry.marks & _ANALYSIS_NAME_MARKS or not entry.terms:
            continue
        name = entry.folded
        if len(name) > 1:
            found[name] = None
        if entry.marks & MARK_CAPITAL:
            if position == place + 1:
                found[before + " " + name] = None
            before, place = name, position
    return tuple(found)[:_ANALYSIS_ENTITIES]


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
    entries = look_up_words(split_words(body))
    folded = [entry[3] for entry in entries]
    counts = Counter(chain.from_iterable([entry[0] for entry in entries]))
    marks = numbers = times = stops = 0
    for mark, held in Counter([entry[1] for entry in entries]).items():
        marks |= mark
        stops += held if mark & MARK_STOP else 0
        numbers += held if mark & MARK_NUMBER else 0
        times += held if mark & MARK_TIME else 0
    if 4 * stops < len(folded):
        for term in language_terms(folded, guess_language(folded)):
            counts[term] += 1
    role = role.lower()
    dates: tuple[CalendarDate, ...] = ()
    if marks & _ANALYSIS_DATE_MARKS:
        dates = find_dates(body[:_ANALYSIS_DATED], months=marks & MARK_MONTH != 0)
    return TextAnalysis(
        terms=tuple(counts),
        counts=tuple(counts.values()),
        length=sum(counts.values()),
        role=role,
        speaker=speaker if role not in ("tool", "function") else "",
        addressed=_analysis_addressed(body) if marks & MARK_CAPITAL else "",
        stamp=stamp,
        dates=dates,
        entities=_analysis_entities(entries) if marks & _ANALYSIS_NAME_MARKS else (),
        numbers=numbers,
        times=times + len(dates),
        words=len(folded),
        marks=marks,
        asks=is_question(body, folded),
        standing=role == "user" and marks & MARK_STANDING != 0 and is_standing(body),
        asked=_analysis_asked(body) if role == "user" else "",
    )
