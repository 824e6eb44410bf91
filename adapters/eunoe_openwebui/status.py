"""The one line above an answer, and the recalled messages as sources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from eunoe.domain.report import Fate, Report
from eunoe.stages.accounting.status_text import STATUS_SEPARATOR, money_text, token_text
from eunoe_openwebui.turn import TurnNotes, still_recalled
from eunoe_openwebui.usage import MeasuredTurn

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


def status_line(report: Report, *, sent: int, allowed: int, unchanged: int | None) -> str:
    """The sizes of a request, before it is sent.

    Args:
        report: of this request.
        sent: tokens of the request, the model's own prompt included.
        allowed: tokens that it may take.
        unchanged: tokens at its start that are the same as in the request before, if known.
    """
    about = "≈" if report.estimated else ""
    parts = [f"sent {about}{token_text(sent)} of {token_text(allowed)}"]
    if unchanged:
        parts.append(f"{token_text(unchanged)} unchanged")
    return STATUS_SEPARATOR.join(parts)


def measured_line(turn: MeasuredTurn, allowed: int) -> str:
    """The sizes of a request as the provider reported them, and the price of the turn."""
    parts = [f"sent {token_text(turn.prompt)} of {token_text(allowed)}"]
    if turn.charged > turn.prompt:
        parts.append(f"{token_text(turn.charged)} in all steps")
    if turn.cached:
        parts.append(f"{token_text(turn.cached)} from cache")
    if turn.dollars:
        parts.append(money_text(turn.dollars))
    return STATUS_SEPARATOR.join(parts)


def status_words(report: Report, earlier: TurnNotes, allowed: int, warning: str) -> str:
    """What became of the messages, for behind the sizes; empty if nothing was done.

    Args:
        report: of this request.
        earlier: what the first step of the turn did, if this is a later one.
        allowed: tokens that the request may take.
        warning: about the newest message; empty if there is none.
    """
    parts = []
    counts = report.counts()
    before = {Fate.DROPPED: earlier.left_out, Fate.RECALLED: still_recalled(earlier, report)}
    for fate, words in _STATUS_WORDS:
        if number := counts.get(fate, 0) + before.get(fate, 0):
            parts.append(f"{number} {words}")
    if report.truncated:
        parts.append("too long, shortened")
    if report.tool_tokens * _STATUS_TOOL_SHARE > allowed:
        parts.append(f"tools take {token_text(report.tool_tokens)}")
    if report.infeasible is not None:
        parts.append("over the limit")
    if report.mended:
        parts.append(f"{len(report.mended)} mended")
    if warning:
        parts.append(warning)
    return STATUS_SEPARATOR.join(parts)


def newest_warning(report: Report, messages: Sequence[Mapping[str, Any]]) -> str:
    """What the report warns about in the newest user message, such as a flag with a bad value."""
    users = [place for place, message in enumerate(messages) if message.get("role") == "user"]
    about = f"message {users[-1]}: " if users else ""
    found = (w.removeprefix(about) for w in report.warnings if about and w.startswith(about))
    return next(found, "")


def status_event(sizes: str, words: str = "") -> dict[str, Any]:
    """The host's event for a finished status line."""
    text = STATUS_SEPARATOR.join(part for part in (sizes, words) if part)
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
