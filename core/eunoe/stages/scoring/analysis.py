"""What scoring needs to know of one text, found once per content.

Pure: the same text, role and name give the same analysis in any process, so it may be cached by
content for ever.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from eunoe.stages.scoring.asking import is_question
from eunoe.stages.scoring.cues import is_standing
from eunoe.stages.scoring.dates import CalendarDate, day_number, find_clock, find_dates, has_date
from eunoe.stages.scoring.folding import fold_text
from eunoe.stages.scoring.word_memo import WordEntry
from eunoe.stages.scoring.word_splitting import split_words
from eunoe.stages.scoring.word_tables import (
    MARK_CAPITAL,
    MARK_DATED,
    MARK_DIGIT,
    MARK_IDENTIFIER,
    MARK_MONTH,
    MARK_NUMBER,
    MARK_STANDING,
    MARK_STOP,
    MARK_TIME,
)
from eunoe.stages.scoring.words import (
    guess_language,
    language_terms,
    look_up_words,
)

ANALYSIS_CHARACTERS = 200_000
"""Characters looked at, at each end of a longer text."""

_ANALYSIS_ASKED = 2_000
_ANALYSIS_ENTITIES = 256
_ANALYSIS_DATED = 20_000
_ANALYSIS_RULED = 4_000
# `is_standing` finds nothing where all of these are missing.
_ANALYSIS_RULE_SIGNS = ("always", "never", "now on", "remember", "prefer", "rather")
_ANALYSIS_STAMP = re.compile(r"\s*[\[(]([^\])\n]{4,48})[\])]\s*")
_ANALYSIS_SPEAKER = re.compile(r"\s*([^\W\d_][\w.'’\-]*(?: [^\W\d_][\w.'’\-]*){0,2}): ")
_ANALYSIS_VOCATIVE = re.compile(
    r"\s*(?:hey|hi|hello|thanks|thank you|good (?:morning|evening|afternoon)|dear|hallo|hola|salut"
    r"|ciao|привет)[,!]?\s+([^\W\d_]+)\b",
    re.IGNORECASE,
)
_ANALYSIS_NAME_MARKS = MARK_CAPITAL | MARK_IDENTIFIER
_ANALYSIS_DATE_MARKS = MARK_DIGIT | MARK_DATED


class TextFacts(NamedTuple):
    """What is asked of a question, and seldom of a message.

    Attributes:
        dates: Dates in the body, 0 for what is not said in them.
        entities: Names, identifiers, paths and addresses in order of first use, folded.
        numbers: Words with digits, and numerals.
        times: Words of time (weekdays, "yesterday", "ago", years) and dates.
        asks: Whether the text asks something.
    """

    dates: tuple[CalendarDate, ...]
    entities: tuple[str, ...]
    numbers: int
    times: int
    asks: bool


class TextAnalysis:
    """Terms and facts of one message; not to be changed.

    What only a question is asked for is found when it is asked for, from the text, which is kept
    for that.

    Attributes:
        terms: Distinct index terms in order of first use.
        packed_counts: How often each occurs, same length as `terms`; bytes if all are below 256.
        length: Sum of the counts.
        role: Role as given, lower case.
        speaker: Folded name of who speaks, from `name` or a ``Name: `` prefix; may be empty.
        stamp: Minutes since 1 January of year 1 of a ``[date]`` prefix, 0 when there is none.
        words: Written words.
        marks: Combination of the ``MARK_*`` bits of all words.
        timed: Whether it has words of time or dates.
        standing: Whether it sets a rule or names a preference.
    """

    __slots__ = (
        "_facts", "_start", "_text", "length", "marks", "packed_counts", "role", "speaker",
        "stamp", "standing", "terms", "timed", "words",
    )  # fmt: skip

    def __init__(
        self,
        text: str,
        start: int,
        *,
        counts: dict[str, int],
        role: str,
        speaker: str,
        stamp: int,
        words: int,
        marks: int,
    ) -> None:
        self._text = text
        self._start = start
        self._facts: TextFacts | None = None
        self.terms = tuple(counts)
        self.length = sum(counts.values())
        try:
            self.packed_counts: bytes | tuple[int, ...] = bytes(counts.values())
        except ValueError:
            self.packed_counts = tuple(counts.values())
        self.role = role
        self.speaker = speaker
        self.stamp = stamp
        self.words = words
        self.marks = marks
        self.timed = marks & MARK_TIME != 0 or (
            _analysis_may_date(marks)
            and has_date(self.body[:_ANALYSIS_DATED], months=marks & MARK_MONTH != 0)
        )
        self.standing = role == "user" and marks & MARK_STANDING != 0 and self._sets_rule()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TextAnalysis):
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[str, str, int, str]:
        return self.role, self.speaker, self.stamp, self.body

    @property
    def body(self) -> str:
        """The text without a prefix that names time or speaker."""
        return self._text[self._start :]

    def _sets_rule(self) -> bool:
        head = self.body[:_ANALYSIS_RULED].casefold()
        return any(sign in head for sign in _ANALYSIS_RULE_SIGNS) and is_standing(self.body)

    @property
    def counts(self) -> tuple[int, ...]:
        """How often each term occurs, same length as `terms`."""
        return tuple(self.packed_counts)

    @property
    def facts(self) -> TextFacts:
        """Dates, entities, numbers, times, and whether it asks; found at first use."""
        if self._facts is None:
            self._facts = _analysis_facts(self.body, self.marks)
        return self._facts

    @property
    def dates(self) -> tuple[CalendarDate, ...]:
        """Dates in the body, 0 for what is not said in them."""
        return self.facts.dates

    @property
    def entities(self) -> tuple[str, ...]:
        """Names, identifiers, paths and addresses in order of first use, folded."""
        return self.facts.entities

    @property
    def numbers(self) -> int:
        """Words with digits, and numerals."""
        return self.facts.numbers

    @property
    def times(self) -> int:
        """Words of time (weekdays, "yesterday", "ago", years) and dates."""
        return self.facts.times

    @property
    def asks(self) -> bool:
        """Whether the text asks something."""
        return self.facts.asks

    @property
    def addressed(self) -> str:
        """Folded name that a greeting at the start calls, may be empty."""
        return _analysis_addressed(self.body) if self.marks & MARK_CAPITAL else ""

    @property
    def asked(self) -> str:
        """Text of a user message to read cues from (at most 4,001 characters), else empty."""
        return _analysis_asked(self.body) if self.role == "user" else ""


def _analysis_stamp(text: str) -> tuple[int, int]:
    """Where the body of "[date] body" begins, and its stamp; (0, 0) without a date."""
    found = _ANALYSIS_STAMP.match(text) if text[:8].lstrip()[:1] in ("[", "(") else None
    if found:
        dates = find_dates(found.group(1))
        days = day_number(dates[0]) if dates else 0
        if days:
            return found.end(), days * 1440 + max(0, find_clock(found.group(1)))
    return 0, 0


def split_stamp(text: str) -> tuple[str, int]:
    """Split "[date] body" into body and stamp (minutes since 1 January of year 1, 0 for none)."""
    start, stamp = _analysis_stamp(text)
    return text[start:], stamp


def _analysis_head(text: str, name: str | None) -> tuple[int, int, str]:
    """Where the body of "[date] Name: body" begins, stamp and speaker."""
    start, stamp = _analysis_stamp(text)
    speaker = fold_text(name).strip() if name else ""
    if text.find(": ", start, start + 80) < 0:
        return start, stamp, speaker
    named = _ANALYSIS_SPEAKER.match(text, start, start + 80)
    if named:
        prefix = fold_text(named.group(1))
        if prefix == speaker or (not speaker and stamp and named.group(1)[:1].isupper()):
            speaker = prefix
            start = named.end()
    return start, stamp, speaker


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
    for position, (terms, marks, name) in enumerate(entries):
        if not marks & _ANALYSIS_NAME_MARKS or not terms:
            continue
        if len(name) > 1:
            found[name] = None
        if marks & MARK_CAPITAL:
            if position == place + 1:
                found[before + " " + name] = None
            before, place = name, position
    return tuple(found)[:_ANALYSIS_ENTITIES]


def _analysis_may_date(marks: int) -> bool:
    """Whether there can be a date; without the name of a month, a year and a "月" there is none."""
    return marks & MARK_MONTH != 0 or marks & _ANALYSIS_DATE_MARKS == _ANALYSIS_DATE_MARKS


def _analysis_facts(body: str, marks: int) -> TextFacts:
    entries = look_up_words(split_words(body))
    dated = body[:_ANALYSIS_DATED] if _analysis_may_date(marks) else ""
    dates = find_dates(dated, months=marks & MARK_MONTH != 0)
    return TextFacts(
        dates=dates,
        entities=_analysis_entities(entries) if marks & _ANALYSIS_NAME_MARKS else (),
        numbers=len([1 for _, marks, _ in entries if marks & MARK_NUMBER]),
        times=len([1 for _, marks, _ in entries if marks & MARK_TIME]) + len(dates),
        asks=is_question(body, [folded for _, _, folded in entries]),
    )


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
    start, stamp, speaker = _analysis_head(text, name)
    entries = look_up_words(split_words(text[start:]))
    counts: dict[str, int] = {}
    marks = stops = 0
    for terms, mark, _ in entries:
        marks |= mark
        if mark & MARK_STOP:
            stops += 1
            continue
        for term in terms:
            if term in counts:
                counts[term] += 1
            else:
                counts[term] = 1
    if 4 * stops < len(entries):
        folded = [word for _, _, word in entries]
        for term in language_terms(folded, guess_language(folded)):
            counts[term] = counts.get(term, 0) + 1
    role = role.lower()
    return TextAnalysis(
        text,
        start,
        counts=counts,
        role=role,
        speaker=speaker if role not in ("tool", "function") else "",
        stamp=stamp,
        words=len(entries),
        marks=marks,
    )
