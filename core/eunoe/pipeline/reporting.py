"""The account of a request: what became of each message, and the numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from eunoe.domain.report import DecisionList, Fate, Overrun, Report
from eunoe.pipeline.arrangement import spoken_text
from eunoe.pipeline.request import Request
from eunoe.pipeline.view import Built, View, fates_of

_NO_WORDS = "a flag keeps it, but its turn is cut and there are no words to quote"
_NO_ROOM = "a flag keeps it, but the budget has no room for it"


def make_report(
    request: Request, view: View | None, built: Built | None, overrun: Overrun | None, before: int
) -> Report:
    """The report; totals that the caller knows better (tools, limits) are filled in there.

    Args:
        view, built: None if the input went through as it was.
        overrun: what did not fit, if it went on anyway.
        before: tokens of the input, list framing included.
    """
    before_each = request.transcript.tokens_before.view()
    newest = np.array([e.tokens for e in request.entries[request.turn_start :]], dtype=np.int64)
    tokens: Sequence[int] = np.concatenate([np.diff(before_each), newest])  # type: ignore[assignment]
    counter, size = request.counter, len(request.entries)
    fates = (
        dict.fromkeys(range(size), Fate.KEPT) if built is None else dict(fates_of(request, built))
    )
    lost = sorted(i for i in request.kept_by_flag if i not in fates)
    mute = {i for i in lost if not spoken_text(request.messages[i])}
    reasons = {
        **(view.reasons if view else {}),
        **{i: _NO_WORDS if i in mute else _NO_ROOM for i in lost},
    }
    lost = [i for i in lost if i not in mute]
    scored = view.scored if view is not None else None
    scores: Sequence[float] = scored.values if scored is not None else ()  # type: ignore[assignment]
    return Report(
        decisions=DecisionList(tokens, fates, scores, reasons),
        tokens_before=before,
        tokens_after=before if built is None else built.tokens,
        budget=0,
        tokenizer=counter.name,
        estimated=not counter.exact,
        profile=request.profile.name,
        cut=view.cut if view else None,
        recalled=sum(1 for f in fates.values() if f is Fate.RECALLED),
        recall_reason=view.recall_reason if view else "",
        certificate=view.certificate if view else None,
        mended=tuple(built.mended) if built else (),
        warnings=(
            *request.flags.warnings,
            *dict.fromkeys(request.notes),
            *(view.warnings if view else ()),
            *_lost_by_size(lost),
            *_over_budget(overrun),
        ),
        violations=tuple(f"[{v.index}] {v.message}" for v in built.violations) if built else (),
        truncated=view.truncated if view else False,
        infeasible=overrun,
    )


def _over_budget(overrun: Overrun | None) -> tuple[str, ...]:
    if overrun is None:
        return ()
    return (f"what may not be cut takes {overrun.needed} tokens, {overrun.allowed} are allowed",)


def _lost_by_size(lost: Sequence[int]) -> list[str]:
    """What a flag keeps and the budget does not hold, in one sentence."""
    if not lost:
        return []
    named = ", ".join(map(str, lost[:8])) + (", …" if len(lost) > 8 else "")
    return [f"a flag keeps messages that the budget has no room for: {named}"]
