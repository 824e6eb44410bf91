"""Read the ``!`` flags at the start of a user message.

Grammar: ``!item,item,... message`` where an item is ``name``, ``name=value``, ``+name``,
``+name=value`` or ``-name``; a value is bare or in double quotes. Only at the very start, only if
every name is known; otherwise the text is text. ``!!`` at the start is text too, byte for byte.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from eunoe.domain.flag import FLAG_NAMES, NO_FLAGS, FlagReading, Flags
from eunoe.domain.settings import POLICY_NAMES

_FLAG_ITEM = re.compile(r'([+-]?)([a-z_]+)(?:=(?:"([^"]*)"|([^\s,"]*)))?(,|\s+|$)')
_SWITCHES = ("full", "nosum", "pin", "drop", "recall", "norecall", "why")
_COUNTS = {"target": (1, 10_000_000), "context": (1, 1_000_000), "recent": (0, 1_000_000)}
_FACTORS = {"weight": (0.0, 100.0), "tool_penalty": (0.0, 1.0), "pair_coherence": (0.0, 1.0)}
_LONGEST_NUMBER = 20
_FIELDS = {"norecall": "recall"}
MESSAGE_FLAGS = ("pin", "drop", "tag", "weight")
FLAG_POLICIES = tuple(name for name in POLICY_NAMES if name != "off")
"""``off`` sends everything, which is for the operator to say."""
_YES, _NO = ("true", "1", "yes", "on"), ("false", "0", "no", "off")


def read_flags(text: str) -> FlagReading | None:
    """The flags at the start of a text, or None if it holds none.

    A known flag with a bad value: ``problems`` says so, ``rest`` is the whole text, and no flag of
    the message counts.
    """
    if not text.startswith("!") or text.startswith("!!"):
        return None
    items: list[tuple[str, str, str | None]] = []
    place = 1
    while True:
        found = _FLAG_ITEM.match(text, place)
        if found is None or found[2] not in FLAG_NAMES:
            return None
        value = found[3] if found[3] is not None else found[4]
        items.append((found[1], found[2], value))
        place = found.end()
        if found[5] != ",":
            break
    flags, standing = NO_FLAGS, NO_FLAGS
    off: list[str] = []
    problems: list[str] = []
    for sign, name, value in items:
        if sign == "-":
            off.append(name)
            continue
        change, problem = _flag_value(name, value)
        if problem:
            problems.append(problem)
        flags = replace(flags, **change)
        if sign == "+" and name not in MESSAGE_FLAGS:
            standing = replace(standing, **change)
    if problems:
        return FlagReading(rest=text, problems=tuple(problems))
    return FlagReading(
        flags=flags,
        standing=standing,
        switched_off=tuple(off),
        rest=text[place:],
    )


def _flag_value(name: str, value: str | None) -> tuple[dict[str, Any], str]:
    """-> the change to ``Flags``, and what is wrong with the value."""
    shown = _shown_flag(name, value or "")
    if name in _SWITCHES:
        if value is not None and value.lower() not in _YES + _NO:
            return {}, f"{shown}: it is a switch; allowed: nothing, true or false"
        on = value is None or value.lower() in _YES
        if name == "norecall":
            return ({"recall": False} if on else {}), ""
        return {name: on}, ""
    if not value:
        return {}, f"!{name} needs a value, such as !{name}={_example_value(name)}"
    if name in _COUNTS:
        low, high = _COUNTS[name]
        sound = value.isascii() and value.isdigit() and len(value) <= _LONGEST_NUMBER
        if not sound or not low <= int(value) <= high:
            return {}, f"{shown}: allowed are whole numbers from {low} to {high}"
        return {name: int(value)}, ""
    if name in _FACTORS:
        return _flag_factor(name, value)
    if name == "policy" and value not in FLAG_POLICIES:
        return {}, f"{shown}: allowed are {', '.join(FLAG_POLICIES)}"
    return {name: value}, ""


def _shown_flag(name: str, value: str) -> str:
    """A flag as it was written, a long value cut."""
    rest = "…" if len(value) > _LONGEST_NUMBER else ""
    return f"!{name}={value[:_LONGEST_NUMBER]}{rest}"


def _flag_factor(name: str, value: str) -> tuple[dict[str, Any], str]:
    smallest, largest = _FACTORS[name]
    try:
        number = float(value)
    except ValueError:
        number = float("nan")
    if not smallest <= number <= largest:
        shown = _shown_flag(name, value)
        return {}, f"{shown}: allowed are numbers from {smallest:g} to {largest:g}"
    return {name: number}, ""


def _example_value(name: str) -> str:
    return "4000" if name in _COUNTS else "0.5" if name in _FACTORS else "stable"


def lock_flags(reading: FlagReading, locked: Sequence[str]) -> tuple[FlagReading, tuple[str, ...]]:
    """The reading without the flags that the operator locked, and the names of those."""
    hit = tuple(n for n in locked if _is_set(reading.flags, n) or _is_set(reading.standing, n))
    if not hit:
        return reading, ()
    flags, standing = _without(reading.flags, hit), _without(reading.standing, hit)
    return replace(reading, flags=flags, standing=standing), hit


def _is_set(flags: Flags, name: str) -> bool:
    """Whether a flag of this name was written; ``recall`` and ``norecall`` are two."""
    if name in ("recall", "norecall"):
        return flags.recall is (name == "recall")
    return getattr(flags, name) is not None


def _without(flags: Flags, names: Sequence[str]) -> Flags:
    fields = (_FIELDS.get(name, name) for name in names if _is_set(flags, name))
    return replace(flags, **dict.fromkeys(fields))


def flags_in_force(readings: Iterable[FlagReading]) -> Flags:
    """The flags of a turn: those that stay on from earlier messages, and the newest message's own.

    Args:
        readings: the readings of all user messages so far, oldest first; the last one opens the
            current turn (pass an empty reading if it has no flags).
    """
    standing, own = NO_FLAGS, NO_FLAGS
    for reading in readings:
        for name in reading.switched_off:
            standing = replace(standing, **{_FIELDS.get(name, name): None})
        standing = reading.standing.over(standing)
        own = reading.flags
    return own.over(standing)
