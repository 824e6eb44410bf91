"""Notes on a turn that wait in the host's own metadata: for the next tool step, and for the usage.

In a tool loop the host lets the chat grow from what we returned for the first step. So a later
step no longer shows what was left out before it, nor the flags that were taken out of the text;
the notes do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from eunoe.domain.placement import Placement
from eunoe.domain.report import Fate, Report
from eunoe.stages.accounting.forecast import RequestForecast
from eunoe.stages.flags import read_flags
from eunoe.stages.quoting import OWN_HEADS
from eunoe.wire.rewriting import ELISION
from eunoe_openwebui.firsttext import first_text, with_first_text

TURN_NOTES_KEY = "eunoe"
_NOTE_NUMBERS = (
    "counted",
    "left_out",
    "left_out_tokens",
    "recalled",
    "block",
    "allowed",
    "shown_recalled",
)
_NOTE_TEXTS = ("shown", "chat", "model", "priced")


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnNotes:
    """Plain facts about the first step of a turn, and what all its steps take.

    Attributes:
        counted: tokens of the newest request by our count; 0 before the first.
        left_out: messages that the first step left out.
        left_out_tokens: by how much it made the chat smaller.
        recalled: messages that it recalled.
        block: place of the recalled block in what it returned; -1 without one.
        flags: (place, flags as written, length of the text without them) for each message that
            it returned without its flags.
        forecasts: one for each request of the turn so far, in order.
        allowed: tokens that the newest request might take; 0 if no status line is to be shown.
        shown: what the status line of the newest request said after the sizes.
        shown_recalled: how many messages it said were recalled.
        chat: name of the chat; empty for a program.
        model: whose tokens were counted; an arena, or a model that is gone, has another answer.
        priced: name under which that model has a price.
    """

    counted: int = 0
    left_out: int = 0
    left_out_tokens: int = 0
    recalled: int = 0
    block: int = -1
    flags: tuple[tuple[int, str, int], ...] = ()
    forecasts: tuple[RequestForecast, ...] = ()
    allowed: int = 0
    shown: str = ""
    shown_recalled: int = 0
    chat: str = ""
    model: str = ""
    priced: str = ""


def read_turn_notes(metadata: Mapping[str, Any] | None) -> TurnNotes:
    """The notes; empty ones at the first step or where something else lies in their place."""
    stored = (metadata or {}).get(TURN_NOTES_KEY)
    if not isinstance(stored, Mapping):
        return TurnNotes()
    numbers = {n: value for n in _NOTE_NUMBERS if type(value := stored.get(n)) is int}
    shown, chat, model, priced = (str(stored.get(n) or "") for n in _NOTE_TEXTS)
    forecasts = map(RequestForecast.from_json, _noted_list(stored, "forecasts"))
    return TurnNotes(
        flags=tuple((n[0], n[1], n[2]) for n in _noted_list(stored, "flags") if _is_flag_note(n)),
        forecasts=tuple(forecast for forecast in forecasts if forecast is not None),
        shown=shown,
        chat=chat,
        model=model,
        priced=priced,
        **numbers,
    )


def _noted_list(stored: Mapping[Any, Any], name: str) -> Sequence[Any]:
    value = stored.get(name)
    return value if isinstance(value, (tuple, list)) else ()


def _is_flag_note(value: object) -> bool:
    return isinstance(value, (tuple, list)) and [type(x) for x in value] == [int, str, int]


def write_turn_notes(metadata: Mapping[str, Any] | None, notes: TurnNotes) -> None:
    """Leave the notes for the next step, where the host gave us a place."""
    if isinstance(metadata, dict):
        forecasts = [forecast.to_json() for forecast in notes.forecasts]
        metadata[TURN_NOTES_KEY] = {**asdict(notes), "forecasts": forecasts}


def with_flags_again(
    notes: TurnNotes, messages: Sequence[Mapping[str, Any]]
) -> list[Mapping[str, Any]]:
    """The messages as the user wrote them: the flags that the first step took out are back.

    They stand in front again also of what was put before the text; see ``with_given_again``.
    """
    restored = list(messages)
    for place, flags, rest in notes.flags:
        message = restored[place] if 0 <= place < len(restored) else {}
        now = first_text(message)
        if now[: len(now) - rest].endswith(ELISION):
            alone = len(now) == rest + len(ELISION)
            text = now.removeprefix(ELISION) if alone else now
            restored[place] = with_first_text(message, flags + text)
    return restored


def with_given_again(
    placements: Sequence[Placement], given: Sequence[Mapping[str, Any]]
) -> list[Placement]:
    """What is sent, with the host's own messages where flags came in front and went again."""
    return [
        replace(placed, message=given[placed.index], changed=False)
        if placed.index is not None
        and placed.changed
        and first_text(placed.message) == ELISION + first_text(given[placed.index])
        else placed
        for placed in placements
    ]


def next_turn_notes(
    notes: TurnNotes,
    messages: Sequence[Mapping[str, Any]],
    placements: Sequence[Placement],
    report: Report,
    counted: int,
    forecast: RequestForecast,
) -> TurnNotes:
    """The notes after a step: those of the first one stay, the count is of the newest.

    Args:
        notes: of the steps before.
        messages: what the step was given.
        placements: what it returned.
        report: of the step.
        counted: tokens of its request.
        forecast: of its request.
    """
    forecasts = (*notes.forecasts, forecast)
    if notes.counted:
        return replace(notes, counted=counted, forecasts=forecasts)
    counts = report.counts()
    block = next((n for n, p in enumerate(placements) if _shows_recalled(p)), -1)
    return TurnNotes(
        counted=counted,
        left_out=counts.get(Fate.DROPPED, 0),
        left_out_tokens=max(0, report.tokens_before - report.tokens_after),
        recalled=report.recalled if block >= 0 else 0,
        block=block,
        flags=tuple(_flags_taken_out(messages, placements)),
        forecasts=forecasts,
    )


def _shows_recalled(placed: Placement) -> bool:
    """Whether it is the recalled block, or a question that opens with it."""
    opens = placed.changed and first_text(placed.message).startswith(OWN_HEADS)
    return placed.fate is Fate.RECALLED or opens


def _flags_taken_out(
    messages: Sequence[Mapping[str, Any]], placements: Sequence[Placement]
) -> Iterator[tuple[int, str, int]]:
    """Where in the output a message lacks the flags it began with."""
    for place, placed in enumerate(placements):
        if placed.index is None or not placed.changed:
            continue
        before, after = first_text(messages[placed.index]), first_text(placed.message)
        reading = read_flags(before)
        if reading is None or reading.problems or not after.endswith(ELISION + reading.rest):
            continue
        rest = len(reading.rest)
        yield place, before[: len(before) - rest], rest


def still_recalled(notes: TurnNotes, report: Report) -> int:
    """How many messages the block of the first step still shows to this one."""
    if not 0 <= notes.block < len(report.decisions):
        return 0
    kept = report.decisions[notes.block].fate in (Fate.KEPT, Fate.RECALLED)
    return notes.recalled if kept else 0
