"""`!why` at the start of a message: the account of the request, as a source under the answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from eunoe.domain.report import Fate, Report
from eunoe.stages.flags import read_flags
from eunoe_openwebui.firsttext import first_text

_WHY_LINES = 60
_WHY_TITLE = "Why the model saw what it saw"


def why_events(
    report: Report,
    messages: Sequence[Mapping[str, Any]],
    locked: Sequence[str],
    account: Sequence[str] = (),
) -> list[dict[str, Any]]:
    """The host's citation event with the report, if the newest user message asks for it.

    Args:
        report: of this request.
        messages: as the host gave them, flags included.
        locked: flags that users may not use.
        account: lines on the money, for behind the first.
    """
    asked = next((first_text(m) for m in reversed(messages) if m.get("role") == "user"), "")
    reading = read_flags(asked)
    if reading is None or not reading.flags.why or "why" in locked:
        return []
    lines = _why_lines(report)
    text = "\n".join(["```", *lines[:1], *account, *lines[1:], "```"])
    source = {"source": {"name": _WHY_TITLE}, "document": [text]}
    return [{"type": "citation", "data": {**source, "metadata": [{"source": _WHY_TITLE}]}}]


def _why_lines(report: Report) -> list[str]:
    """The report as lines; of a long one, those about messages that the model does not see go."""
    lines = report.explain().split("\n")
    if len(lines) > _WHY_LINES:
        lines = [line for line in lines if f" {Fate.DROPPED} " not in line]
    if len(lines) > _WHY_LINES:
        half = _WHY_LINES // 2
        lines = [*lines[:half], "  ...", *lines[-half:]]
    return lines
