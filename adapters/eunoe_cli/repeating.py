"""How much of a request repeats the one before it: what a provider has in its prompt cache."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eunoe import OrchestratorResult
    from eunoe_cli.ruler import Ruler


def point_before(points: Sequence[int], moment: int) -> int | None:
    """The request before the one with so many messages; None if there is none."""
    return max((point for point in points if point < moment), default=None)


def repeats_line(before: OrchestratorResult | None, now: OrchestratorResult, ruler: Ruler) -> str:
    """One line on what two requests in a row have in common; empty for a first request."""
    if before is None:
        return ""
    from eunoe_cli.ruler import same_at_start

    old, new = (r.conversation.to_openai_messages() for r in (before, now))
    same = same_at_start(old, new)
    repeated = ruler.tokens_at_start(new, same) if same else 0
    cut = now.report.cut
    why = "; then comes a cut" if cut is not None and cut.declared else ""
    return f"repeats {repeated:,} tokens of the request before, from the start on{why}"
