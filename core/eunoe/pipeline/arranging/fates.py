"""What became of each message of a request, and why."""

from __future__ import annotations

from collections.abc import Mapping

from eunoe.domain.report import USUAL_REASONS, Fate
from eunoe.pipeline.arranging.view import Built, View
from eunoe.pipeline.request import Request

_BY_FLAG = "a flag leaves it out"
_OTHERS_FIRST = "other messages matter more to the question"
_BEFORE = "before the window"
_NAMED = "too large to come back: only named"
_OWN_SUMMARY = "too large to come back whole: its own summary is quoted"
_UNSHOWN = "its pictures and files are only named"


def fates_of(request: Request, built: Built) -> dict[int, Fate]:
    """The fate of every input message that is in the output in some form."""
    fates: dict[int, Fate] = dict.fromkeys(_summed_up(request, built), Fate.SUMMARISED)
    fates.update(dict.fromkeys(built.quoted, Fate.RECALLED))
    fates.update(built.parts)
    for slot in built.slots:
        for i in slot.parts:
            fates[i] = slot.fate if i == slot.index else slot.fates.get(i, Fate.KEPT)
    return fates


def _summed_up(request: Request, built: Built) -> list[int]:
    """The messages that the summary speaks of."""
    messages = request.messages[: built.summed_up]
    return [i for i, m in enumerate(messages) if not (m.is_system or request.dropped_by_flag(i))]


def reasons_of(
    request: Request, view: View, built: Built, fates: Mapping[int, Fate]
) -> dict[int, str]:
    """Why some messages met their fate, where the usual reason would not be true.

    Args:
        fates: of ``fates_of``.
    """
    reasons = {**view.reasons, **built.reasons}
    flagged = [i for i in request.flags.by_message if request.dropped_by_flag(i)]
    reasons.update((i, _BY_FLAG) for i in flagged if i not in fates)
    for i, fate in built.parts.items():
        if fate is not Fate.GIST:
            reasons.setdefault(i, _NAMED if fate is Fate.STUB else _OWN_SUMMARY)
    messages = request.messages
    for i in [i for i in built.quoted - built.shown if messages[i].media]:
        reasons[i] = f"{reasons.get(i) or USUAL_REASONS[fates[i]]}; {_UNSHOWN}"
    return reasons


def usual_reason(view: View) -> str:
    """Why this view leaves messages out; empty where the usual reason says it."""
    if view.ranked:
        return _OTHERS_FIRST
    return "" if view.scored is not None or view.recall_reason else _BEFORE
