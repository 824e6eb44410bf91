"""Calendar dates written in text: found, normalised, compared.

A date is a triple (year, month, day) in which 0 means "not said".
"""

from __future__ import annotations

import re
from datetime import date

from eunoe.stages.scoring.folding import fold_text
from eunoe.stages.scoring.word_tables import WORD_MONTHS
from eunoe.stages.scoring.words import look_up_word

_DATE_WORD = r"([^\W\d_]{3,10})\.?"
# Kind (one letter a group, "M" a month by name), what a match cannot do without (see
# `_date_signs`), the pattern.
_DATE_PATTERNS = (
    ("ymd", "20", re.compile(r"\b((?:19|20)\d\d)[-/.](\d{1,2})[-/.](\d{1,2})(?!\d)")),
    ("ymd", "年", re.compile(
        "((?:19|20)\\d\\d)\\s?年\\s?(\\d{1,2})\\s?月(?:\\s?(\\d{1,2})\\s?[日号])?")),
    ("md", "月", re.compile("(?<![年\\d])(\\d{1,2})\\s?月\\s?(\\d{1,2})\\s?[日号]")),
    ("dmy", "20", re.compile(r"\b(\d{1,2})\.(\d{1,2})\.((?:19|20)\d\d)\b")),
    ("mdy", "20", re.compile(r"\b(\d{1,2})/(\d{1,2})/((?:19|20)\d\d)\b")),
    ("dMy", "0", re.compile(
        r"\b(\d{1,2})(?:st|nd|rd|th|\.)?(?:\s+(?:of|de|di|do))?[\s\-]+" + _DATE_WORD
        + r"(?:(?:\s+(?:de|del))?[,\s\-]+((?:19|20)\d\d))?\b")),
    ("Mdy", "0", re.compile(
        r"\b" + _DATE_WORD + r"[\s\-]+(\d{1,2})(?:st|nd|rd|th)?(?:[,\s\-]+((?:19|20)\d\d))?\b")),
    ("My", "20", re.compile(r"\b" + _DATE_WORD + r"[,\s\-]+(?:of\s+|de\s+)?((?:19|20)\d\d)\b")),
    ("M", "", re.compile(
        r"\b(?:in|of|during|since|until|last|this|next|early|late|mid|by|im|en|em|в)[\s\-]+"
        + _DATE_WORD + r"\b", re.IGNORECASE)),
    ("y", "20", re.compile(r"\b((?:19|20)\d\d)\b")),
)  # fmt: skip
_DATE_YEAR = re.compile(r"(?:19|20)\d\d")
_DATE_LONE_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_DATE_DIGIT = re.compile(r"\d")
_DATE_CLOCK = re.compile(r"\b(\d{1,2}):(\d{2})(?::\d{2})?\s*([ap]m)?\b", re.IGNORECASE)

CalendarDate = tuple[int, int, int]

DATES_MOST = 64
"""Dates that are read in one text."""


def _date_month(word: str) -> int:
    return WORD_MONTHS.get(look_up_word(fold_text(word))[2], 0)


def _date_from(kind: str, groups: tuple[str | None, ...]) -> CalendarDate | None:
    fields = {"y": 0, "m": 0, "d": 0}
    for key, text in zip(kind, groups, strict=True):
        if text:
            fields[key.lower()] = _date_month(text) if key == "M" else int(text)
    year, month, day = fields["y"], fields["m"], fields["d"]
    if kind == "mdy" and month > 12:
        month, day = day, month
    if kind == "y":
        return year, 0, 0
    if not 1 <= month <= 12 or not 0 <= day <= 31:
        return None
    return year, month, day


def _date_signs(text: str) -> set[str]:
    """Which signs of a date a text has: "" (always), "0" a digit, "20" a year, "月", "年"."""
    signs = {"", *(sign for sign in "月年" if sign in text)}
    if _DATE_DIGIT.search(text):
        signs.add("0")
        if _DATE_YEAR.search(text):
            signs.add("20")
    return signs


def find_dates(text: str, *, months: bool = True) -> tuple[CalendarDate, ...]:
    """All dates of a text in order of the patterns; overlapping weaker readings are left out.

    Args:
        text: Any text.
        months: Whether it may hold the name of a month; False saves looking for one.
    """
    out: list[CalendarDate] = []
    taken: list[tuple[int, int]] = []
    signs = _date_signs(text)
    for kind, sign, pattern in _DATE_PATTERNS:
        if sign not in signs or (not months and "M" in kind):
            continue
        for found in pattern.finditer(text):
            start, end = found.span()
            if any(start < b and a < end for a, b in taken):
                continue
            value = _date_from(kind, found.groups())
            if value is None:
                continue
            if len(taken) >= DATES_MOST:
                return tuple(out)
            taken.append((start, end))
            if value not in out:
                out.append(value)
    return tuple(out)


def has_date(text: str, *, months: bool = True) -> bool:
    """Whether `find_dates` finds any; a year that stands alone is one, or part of one."""
    return _DATE_LONE_YEAR.search(text) is not None or bool(find_dates(text, months=months))


def numeric_forms(value: CalendarDate) -> tuple[str, ...]:
    """How a day of a month stands in words of digits: "-05-03", "3.5.", "5/3/", the year apart."""
    _, month, day = value
    if not month or not day:
        return ()
    forms = [f"-{month:02}-{day:02}", f"/{month:02}/{day:02}"]
    for m, d in ((month, day), (f"{month:02}", f"{day:02}")):
        forms += [f"\n{d}.{m}.", f"\n{m}/{d}/"]
    return tuple(forms)


def find_clock(text: str) -> int:
    """Minutes after midnight of the first clock time, or -1."""
    found = _DATE_CLOCK.search(text)
    if not found:
        return -1
    hour, minute, half = int(found.group(1)), int(found.group(2)), (found.group(3) or "").lower()
    if half == "pm" and hour < 12:
        hour += 12
    if half == "am" and hour == 12:
        hour = 0
    return hour * 60 + minute if hour < 24 and minute < 60 else -1


def day_number(value: CalendarDate) -> int:
    """Proleptic day number of a full date; 0 when year or month is missing or impossible."""
    year, month, day = value
    if not year or not month:
        return 0
    try:
        return date(year, month, day or 1).toordinal()
    except ValueError:
        return 0


def day_span(value: CalendarDate, year: int = 0) -> tuple[int, int]:
    """First and last day number that the date may mean; (0, 0) when it cannot be placed.

    Args:
        value: The date; a missing year is filled with `year`.
        year: Year to assume, 0 for none.
    """
    y, m, d = value
    y = y or year
    if not y:
        return 0, 0
    if not m:
        return date(y, 1, 1).toordinal(), date(y, 12, 31).toordinal()
    first = day_number((y, m, d or 1))
    if d or not first:
        return first, first
    after = date(y + m // 12, m % 12 + 1, 1) if y < 9999 else date(y, m, 28)
    return first, after.toordinal() - 1
