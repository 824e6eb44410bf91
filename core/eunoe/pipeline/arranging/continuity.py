"""Does a view begin with the view of the request before it? Said honestly where a mend forbids it.

The window answers for its own cuts. What is left are mends that reach back: a system message that
came late and goes to the head, a call without result whose id comes again, a result that finds its
call afterwards, an item that comes twice; and room that a mend took in one turn and gave back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from eunoe.domain.message import PLAIN_SHAPE, Message
from eunoe.domain.report import Cut, Fate
from eunoe.pipeline.arranging.slots import Slot
from eunoe.pipeline.arranging.view import Built, View, build_view
from eunoe.pipeline.chat.transcript import Transcript, last_turn_start
from eunoe.pipeline.request import Request


def declared_cut(request: Request, view: View, built: Built) -> Cut | None:
    """The cut of a view, declared if a mend of this request changed what was sent before."""
    cut = view.cut
    if (cut is not None and cut.declared) or not built.mended:
        return cut
    if not _reaches_back(request, view, built):
        return cut
    return (
        replace(cut, declared=True)
        if cut is not None
        else Cut(index=0, tokens_dropped=0, declared=True)
    )


def _reaches_back(request: Request, view: View, built: Built) -> bool:
    """Whether the list, without what is quoted, begins otherwise than the one before.

    Note:
        Plain talk cannot reach back, which is seen at once; else the list is built a second time,
        as it was at the request before.
    """
    asked = request.timeline.requests
    place = int(asked[-1]) if len(asked) else 0
    start = last_turn_start(request.entries[:place])
    if not place or all(map(_is_plain_talk, request.messages[start:])):
        return False
    earlier = _as_it_was(request, place, start)
    kept = [a for a in view.in_place if a.first < start]
    before = build_view(earlier, View(in_place=kept))
    if request.allowed is not None and before.tokens > request.allowed:
        return True  # something that is gone by now took room then
    outline = _outline(before.slots)
    return _outline(built.slots)[: len(outline)] != outline


def _is_plain_talk(message: Message) -> bool:
    flow = message.is_system or message.is_result or message.calls
    return message.shape is PLAIN_SHAPE and not flow


def _as_it_was(request: Request, place: int, start: int) -> Request:
    """The request answered at a place, its turn begun at ``start``: the chat as it was then."""
    entries = request.entries[:place]
    transcript = request.transcript
    if start != request.turn_start:
        transcript = Transcript(request.counter.name)
        transcript.grow(entries[:start])
    return replace(request, raws=request.raws[:place], entries=entries, transcript=transcript)


def _outline(slots: Sequence[Slot]) -> list[tuple[object, ...]]:
    """What stands where, the quoted block apart."""
    return [
        (s.index, s.parts, s.stands_by, s.message.digest if s.index is None else "")
        for s in slots
        if s.index is not None or s.fate not in (Fate.RECALLED, Fate.SUMMARISED)
    ]
