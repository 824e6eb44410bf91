"""The one line above an answer, and the recalled messages as sources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from eunoe.domain.report import Fate, Report
from eunoe_openwebui.turn import TurnNotes, still_recalled

# The tools are named in the line when they take more than a quarter of what is allowed.
_STATUS_TOOL_SHARE = 4
_SOURCES_SHOWN = 8
_STATUS_WORDS = (
    (Fate.RECALLED, "recalled"),
    (Fate.SUMMARISED, "summarised"),
    (Fate.GIST, "shortened"),
    (Fate.STUB, "tool results elided"),
    (Fate.DROPPED, "left out"),
)


def status_line(
    report: Report,
    earlier: TurnNotes,
    *,
    sent: int,
    allowed: int,
    unchanged: int | None,
    warning: str = "",
) -> str:
    """What was done, in one line.

    Args:
        report: of this request.
        earlier: what the first step of the turn did, if this is a later one.
        sent: tokens of the request, the model's own prompt included.
        allowed: tokens that it may take; 0 without a limit.
        unchanged: tokens at its start that are the same as in the request before, if known.
        warning: about the newest message; empty if there is none.
    """
    about = "≈" if report.estimated else ""
    parts = [f"sent {about}{short_number(sent)}" + (f" of {short_number(allowed)}" * bool(allowed))]
    if unchanged:
        parts.append(f"{short_number(unchanged)} unchanged")
    counts = report.counts()
    before = {Fate.DROPPED: earlier.left_out, Fate.RECALLED: still_recalled(earlier, report)}
    for fate, words in _STATUS_WORDS:
        if number := counts.get(fate, 0) + before.get(fate, 0):
            parts.append(f"{number} {words}")
    if report.truncated:
        parts.append("too long, shortened")
    if report.tool_tokens * _STATUS_TOOL_SHARE > allowed > 0:
        parts.append(f"tools take {short_number(report.tool_tokens)}")
    if report.infeasible is not None:
        parts.append("over the limit")
    if report.mended:
        parts.append(f"{len(report.mended)} mended")
    if warning:
        parts.append(warning)
    return " · ".join(parts)


def newest_warning(report: Report, messages: Sequence[Mapping[str, Any]]) -> str:
    """What the report warns about in the newest user message, such as a flag with a bad value."""
    users = [place for place, message in enumerate(messages) if message.get("role") == "user"]
    about = f"message {users[-1]}: " if users else ""
    found = (w.removeprefix(about) for w in report.warnings if about and w.startswith(about))
    return next(found, "")


def short_number(tokens: int) -> str:
    """A number in three or four characters: 950, 7.9k, 128k, 1.2M."""
    for size, unit in ((1_000_000, "M"), (1_000, "k")):
        if tokens >= size:
            text = f"{tokens / size:.1f}" if tokens < 100 * size else f"{tokens // size}"
            return text.removesuffix(".0") + unit
    return str(tokens)


def status_event(text: str) -> dict[str, Any]:
    """The host's event for a finished status line."""
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
