"""The flags of a chat, read from its user messages and taken out of what the model sees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eunoe.domain.flag import NO_FLAGS, FlagReading, Flags
from eunoe.domain.ordinals import ordinal
from eunoe.domain.settings import Settings
from eunoe.pipeline.chat.memory import ContentEntry, ContentMemory
from eunoe.stages.atoms import opens_turn
from eunoe.stages.flags import flags_in_force, lock_flags
from eunoe.wire.rewriting import with_prefix_elided


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadFlags:
    """The flags of a chat: those in force now, those of each message, and the stripped input."""

    raws: tuple[Mapping[str, Any], ...]
    entries: list[ContentEntry]
    stripped: frozenset[int]
    now: Flags
    by_message: Mapping[int, Flags]
    warnings: tuple[str, ...]


def strip_flags(
    raws: tuple[Mapping[str, Any], ...],
    entries: list[ContentEntry],
    memory: ContentMemory,
    settings: Settings,
    *,
    start: int = 0,
) -> ReadFlags:
    """Read the flags of every user message, and take them out of what the model sees.

    Args:
        start: messages before this place are known to have no flags.
    """
    flagged = [i for i in range(start, len(entries)) if entries[i].reading is not None]
    if not flagged or not settings.read_flags:
        return ReadFlags(
            raws=raws,
            entries=entries,
            stripped=frozenset(),
            now=NO_FLAGS,
            by_message={},
            warnings=(),
        )
    readings, warnings = _allowed_readings(entries, flagged, settings)
    new_raws, new_entries = list(raws), list(entries)
    stripped = frozenset(i for i, reading in readings.items() if not reading.problems)
    for i in stripped:
        length = len(entries[i].message.text) - len(readings[i].rest)
        new_raws[i] = with_prefix_elided(raws[i], length)
        new_entries[i] = memory.read_all([new_raws[i]])[0]
    return ReadFlags(
        raws=tuple(new_raws),
        entries=new_entries,
        stripped=stripped,
        now=_flags_now(entries, readings),
        by_message={i: reading.flags for i, reading in readings.items()},
        warnings=tuple(warnings),
    )


def _allowed_readings(
    entries: Sequence[ContentEntry], flagged: Sequence[int], settings: Settings
) -> tuple[dict[int, FlagReading], list[str]]:
    """What was read of the flagged messages, locked flags taken out, by place; and warnings."""
    readings: dict[int, FlagReading] = {}
    warnings: list[str] = []
    for i in flagged:
        read = entries[i].reading
        if read is None:
            continue
        where = f"the {ordinal(i)} message"
        warnings += [f"{where}: {problem}" for problem in read.problems]
        readings[i], locked = lock_flags(read, settings.locked_flags)
        warnings += [f"{where}: !{name} is locked by the operator" for name in locked]
    return readings, warnings


def _flags_now(entries: Sequence[ContentEntry], readings: Mapping[int, FlagReading]) -> Flags:
    """The flags in force in the current turn; what stands behind its question does not count."""
    current = _newest_question(entries)
    spoken = [r for i, r in readings.items() if current is None or i <= current]
    if max(readings, default=None) != current:
        spoken.append(FlagReading())  # flags of an earlier turn are over
    return flags_in_force(spoken)


def _newest_question(entries: Sequence[ContentEntry]) -> int | None:
    for i in range(len(entries) - 1, -1, -1):
        before = entries[i - 1].message if i else None
        if opens_turn(entries[i].message, before):
            return i
    return None
