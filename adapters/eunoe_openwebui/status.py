"""The one line above an answer, and the recalled messages as sources."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from eunoe.domain.ordinals import ordinal
from eunoe.domain.report import Fate, Report
from eunoe.stages.accounting.status_text import STATUS_SEPARATOR, token_text
from eunoe.stages.flags import read_flags
from eunoe_openwebui.firsttext import first_text
from eunoe_openwebui.turn import TurnNotes, still_recalled

# The tools are named in the line when they take more than a quarter of what is allowed.
_STATUS_TOOL_SHARE = 4
_SOURCES_SHOWN = 8
_ABOUT_ELSE = re.compile(r"the \d+\w\w message: |what may not be cut takes ")
_STATUS_WORDS = (
    (Fate.SUMMARISED, "summarised", "summarised"),
    (Fate.GIST, "shortened", "shortened"),
    (Fate.STUB, "tool result left out", "tool results left out"),
    (Fate.DROPPED, "message left out", "messages left out"),
)


def recalled_number(report: Report, earlier: TurnNotes) -> int:
    """Messages that this request recalls, those of the turn's first step included."""
    return report.counts().get(Fate.RECALLED, 0) + still_recalled(earlier, report)


def status_alarms(report: Report, *, allowed: int) -> str:
    """What does not fit, for right behind the sizes: the page shows one line and cuts its end.

    Args:
        report: of this request.
        allowed: tokens that the request may take.
    """
    parts = []
    if report.infeasible is not None:
        parts.append("over the limit")
    if report.tool_tokens * _STATUS_TOOL_SHARE > allowed:
        parts.append(f"tools take {token_text(report.tool_tokens)}")
    if report.truncated:
        parts.append("a message was too long: shortened")
    return STATUS_SEPARATOR.join(parts)


def status_words(report: Report, earlier: TurnNotes, *, factor: float, pinned: int) -> str:
    """What became of the messages; empty if nothing was done.

    Args:
        report: of this request.
        earlier: what the first step of the turn did, if this is a later one.
        factor: on our counts, as learnt from reports.
        pinned: messages that a flag pins.
    """
    parts = []
    counts = report.counts()
    before = {Fate.DROPPED: earlier.left_out}
    for fate, one, many in _STATUS_WORDS:
        if number := counts.get(fate, 0) + before.get(fate, 0):
            parts.append(f"{number} {one if number == 1 else many}")
    if pinned:
        parts.append(f"{pinned} pinned")
    if report.mended:
        number = len(report.mended)
        parts.append(f"{number} {'fault' if number == 1 else 'faults'} of the list mended")
    if factor != 1:
        parts.append(f"tokens counted ×{factor:g}")
    if report.cache_lost:
        parts.append(f"prompt cache lost: {report.cache_lost}")
    return STATUS_SEPARATOR.join(parts)


def pinned_number(messages: Sequence[Mapping[str, Any]], locked: Sequence[str]) -> int:
    """User messages that begin with ``!pin``, where users may use it."""
    if "pin" in locked:
        return 0
    texts = (first_text(m) for m in messages if m.get("role") == "user")
    readings = (read_flags(text) for text in texts if text.startswith("!"))
    return sum(reading is not None and reading.flags.pin is True for reading in readings)


def shown_warning(report: Report, messages: Sequence[Mapping[str, Any]]) -> str:
    """What the user should know: of the newest message, as of a flag with a bad value, else of all.

    Warnings about older messages were shown when those were new; that it is over the limit is said
    without numbers beside the sizes.
    """
    users = [place for place, message in enumerate(messages) if message.get("role") == "user"]
    about = f"the {ordinal(users[-1])} message: " if users else ""
    newest = (w.removeprefix(about) for w in report.warnings if about and w.startswith(about))
    of_all = (w for w in report.warnings if not _ABOUT_ELSE.match(w))
    return next(newest, "") or next(of_all, "")


def status_event(*pieces: str) -> dict[str, Any]:
    """The host's event for a finished status line; empty pieces are left out."""
    text = STATUS_SEPARATOR.join(piece for piece in pieces if piece)
    return {"type": "status", "data": {"description": text, "done": True}}


def source_events(report: Report, messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The host's citation events for the recalled texts that matter most, in the chat's order."""
    recalled = [d for d in report.decisions if d.fate is Fate.RECALLED]
    best = sorted(recalled, key=lambda d: (-d.score, d.index))[:_SOURCES_SHOWN]
    events = []
    for place in sorted(decision.index for decision in best):
        content = messages[place].get("content")
        if isinstance(content, str):
            turn = sum(message.get("role") == "user" for message in messages[: place + 1])
            name = f"Turn {turn} ({messages[place].get('role')})"
            data = {"source": {"name": name}, "document": [content], "metadata": [{"source": name}]}
            events.append({"type": "citation", "data": data})
    return events
