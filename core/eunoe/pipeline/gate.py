"""Whether this question needs what lies before the window, and how deep to reach.

Recall costs money and attention: it happens only when the window lacks what the question needs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from eunoe.pipeline.recall import Scored
from eunoe.pipeline.request import Request


@dataclass(frozen=True, slots=True)
class RecallNeed:
    """``none``, ``light`` (in the free room beside the window) or ``deep``, and why."""

    depth: Literal["none", "light", "deep"]
    reason: str


def need_of_recall(request: Request, scored: Scored, start: int) -> RecallNeed:
    """The need of the current question for messages before ``start``."""
    wish = request.flags.now.recall
    if wish is None and request.settings.recall != "auto":
        wish = request.settings.recall == "always"
    if wish is False or request.question is None:
        return RecallNeed("none", "recall is off for this turn")
    outside = float(scored.values[:start].max()) if start else 0.0
    inside = float(scored.values[start:].max()) if start < len(scored.values) else 0.0
    if wish:
        return RecallNeed("deep", "recall was asked for")
    query = request.entries[request.question].analysed()
    if not query.asks or query.words > 40 or outside <= inside:
        return RecallNeed("none", "the window holds what the question needs")
    return RecallNeed("deep", "an older message answers the question better than the window does")
