"""Notes on a turn that wait in the host's own metadata: for the next tool step, and for the usage.

In a tool loop the host lets the chat grow from what we returned for the first step. So a later
step no longer shows what was left out before it; the notes do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from eunoe.domain.report import Fate, Placement, Report

TURN_NOTES_KEY = "eunoe"


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnNotes:
    """Plain numbers about the first step of a turn, and the count of its newest one.

    Attributes:
        counted: tokens of the newest request by our count; 0 before the first.
        left_out: messages that the first step left out.
        recalled: messages that it recalled.
        block: place of the recalled block in what it returned; -1 without one.
    """

    counted: int = 0
    left_out: int = 0
    recalled: int = 0
    block: int = -1


def read_turn_notes(metadata: Mapping[str, Any] | None) -> TurnNotes:
    """The notes; empty ones at the first step or where something else lies in their place."""
    stored = (metadata or {}).get(TURN_NOTES_KEY)
    if not isinstance(stored, Mapping):
        return TurnNotes()
    values = {field.name: stored.get(field.name) for field in fields(TurnNotes)}
    return TurnNotes(**{name: value for name, value in values.items() if type(value) is int})


def write_turn_notes(metadata: Mapping[str, Any] | None, notes: TurnNotes) -> None:
    """Leave the notes for the next step, where the host gave us a place."""
    if isinstance(metadata, dict):
        metadata[TURN_NOTES_KEY] = asdict(notes)


def next_turn_notes(
    notes: TurnNotes, report: Report, placements: Sequence[Placement], counted: int
) -> TurnNotes:
    """The notes after a step: those of the first one stay, the count is of the newest."""
    if notes.counted:
        return replace(notes, counted=counted)
    counts = report.counts()
    block = next((n for n, p in enumerate(placements) if p.fate is Fate.RECALLED), -1)
    return TurnNotes(
        counted=counted,
        left_out=counts.get(Fate.DROPPED, 0),
        recalled=report.recalled if block >= 0 else 0,
        block=block,
    )


def still_recalled(notes: TurnNotes, report: Report) -> int:
    """How many messages the block of the first step still shows to this one."""
    if not 0 <= notes.block < len(report.decisions):
        return 0
    kept = report.decisions[notes.block].fate in (Fate.KEPT, Fate.RECALLED)
    return notes.recalled if kept else 0
