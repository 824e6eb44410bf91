"""Whether this question needs what lies before the window, and how deep to reach.

Recall costs money and attention: it happens only when the window lacks what the question needs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from eunoe.pipeline.recalling.recall import Scored, answer_upto, score_history
from eunoe.pipeline.request import Request
from eunoe.stages.scoring.gate import WindowCoverage, may_open, window_coverage


@dataclass(frozen=True, slots=True)
class RecallNeed:
    """``none``, ``light`` (in the free room beside the window) or ``deep``, and why.

    ``unasked`` if the question itself needs nothing, only the calls that it may lead to.
    """

    depth: Literal["none", "light", "deep"]
    reason: str
    scored: Scored | None = None
    unasked: bool = False


def need_of_recall(
    request: Request, start: int, carried: Sequence[int] = (), *, unasked: bool = False
) -> RecallNeed:
    """The need of the current question for messages before ``start``, ``carried`` ones apart.

    The history is scored only if the question could need it at all.

    Args:
        unasked: whether values that the next call may pass come back though none is asked for.
    """
    wish = request.flags.now.recall
    if wish is None and request.settings.recall != "auto":
        wish = request.settings.recall == "always"
    query = request.meant_query
    if wish is False or query is None:
        return RecallNeed("none", "recall is off for this turn")
    may_need = unasked or may_open(query, templated=request.from_template)
    if wish is None and not may_need:
        return RecallNeed("none", "the question does not point back")
    scored = score_history(request)
    if wish or scored.answer is None:
        return RecallNeed("deep" if wish else "none", "recall was asked for", scored)
    upto, answer, values = request.turn_start, scored.answer, scored.values
    if request.meant is not None and request.meant != request.question:
        upto = request.meant  # what it goes on from has its words
        answer = answer_upto(request, scored, query, upto)
        values = answer.values
    coverage = window_coverage(
        request.transcript.indexed(request.expired),
        query,
        start,
        upto=upto,
        relevance=answer,
        values=values,
        carried=carried,
    )
    shut = not coverage.open or (carried and not coverage.sure)
    if shut and unasked:
        why = "the next call may pass values that are not in view"
        return RecallNeed("light", why, scored, unasked=True)
    if shut:
        return RecallNeed("none", "the window holds what the question needs", scored)
    depth, why = _depth_of(coverage)
    return RecallNeed(depth, why, scored)


def _depth_of(coverage: WindowCoverage) -> tuple[Literal["light", "deep"], str]:
    """How deep a question reaches that opens the gate, and what opened it."""
    if coverage.by_whole:
        return "deep", "the question is about the chat as a whole"
    if coverage.by_subject:
        return "deep", "the question names a person or a day that older messages tell more of"
    if coverage.by_meaning:
        return "light", "an older message is closer in meaning to the question than the window"
    if coverage.by_relevance:
        return "light", "an older message is far more relevant to the question than the window"
    found = f"{100 * coverage.best_outside:.0f} % against {100 * coverage.best_inside:.0f} %"
    why = f"an older message covers more of the question than the window ({found})"
    return "deep" if coverage.plain else "light", why
