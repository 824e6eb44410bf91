"""The policy ``stable``: a window that only grows between cuts, and what this question needs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from eunoe.domain.certificate import ALL_SENT, NoCertificate, Unproven
from eunoe.pipeline.arranging.in_place import context_start, forced_atoms, free_room, with_forced
from eunoe.pipeline.arranging.view import View
from eunoe.pipeline.policies.carrying import (
    CarriedOver,
    carry_over,
    has_room_for,
    put_carried,
)
from eunoe.pipeline.policies.recall_beside import halved, halvings_beside, recall_beside
from eunoe.pipeline.policies.water_marks import place_before, replayed_start, water_marks
from eunoe.pipeline.recalling.choosing import Choice
from eunoe.pipeline.recalling.shown_summary import due_summary, shown_summary
from eunoe.pipeline.request import Request
from eunoe.pipeline.summaries.writing import SummaryJob
from eunoe.stages.window import WaterMarks, WindowStart, replay_window


@dataclass(frozen=True, slots=True)
class _Sent:
    """What a request sends beside system messages and the turn that it belongs to.

    Attributes:
        window: where the window begins.
        cut: where the last cut was made; a summary speaks of what lies before it.
        carried: what that cut carried over.
        recalled: what comes back beside the window.
        shortened: whether what was recalled gives way at this very request.
    """

    window: WindowStart
    cut: int
    carried: CarriedOver
    recalled: Choice
    shortened: bool = False


def stable_view(request: Request) -> View:
    """The window that keeps the cache, and what this question needs from before it."""
    forced = forced_atoms(request)
    marks, aside = water_marks(request, forced)
    floor, view = context_start(request), View(in_place=[])
    sent = _at_first_request(request, view, marks, may_recall=floor == 0)
    marks = replace(marks, extra=sent.recalled.tokens)
    if len(request.entries) > request.first_asked:
        sent = _at_later_request(request, view, marks, sent)
    view.quoted, view.parts = sent.recalled.in_block(), sent.recalled.parts()
    view.gains = sent.recalled.gains
    view.certificate = ALL_SENT if sent.window.start <= floor else sent.recalled.certificate
    view.start = max(sent.window.start, floor)
    if floor == 0 and aside:
        _put_summary(request, view, marks, sent.cut, aside)
    if request.due is None:
        request.due = sent.recalled.due
    declared = sent.window.fresh or sent.shortened
    declared = declared or _was_sent_whole(request) or _changed(request, view)
    if floor == 0 and sent.carried.atoms:
        declared |= _put_carried(request, view, marks, sent)
    return with_forced(request, view.start, forced, view, declared=declared)


def _at_first_request(
    request: Request, view: View, marks: WaterMarks, *, may_recall: bool
) -> _Sent:
    """What the first request of the turn sends: the window as it was, and what the question needs.

    Why something comes back, or nothing, is noted in the view.
    """
    window = replayed_start(request, marks, request.first_asked)
    cut = window.start
    carried = carry_over(request, marks, cut)
    if not may_recall or cut == 0:
        return _Sent(window, cut, carried, Choice())
    recalled, window = recall_beside(request, view, window, marks, carried)
    return _Sent(window, cut, carried, recalled)


def _at_later_request(request: Request, view: View, marks: WaterMarks, first: _Sent) -> _Sent:
    """What a later request of the turn sends: it may cut again, and what was recalled gives way."""
    timeline, asked, size = request.timeline, request.first_asked, len(request.entries)
    settled, before = first.window.start, place_before(request)
    replay = partial(replay_window, timeline, marks, start=settled, after=asked)
    window, cut, carried = replay(stop=size), first.cut, first.carried
    if window.start > settled:
        cut = window.start
        carried = carry_over(request, marks, cut)
    room = marks.room - carried.tokens
    halvings = halvings_beside(first.recalled, window, room - timeline.used(window.start, size))
    halvings_before = 0
    if before > asked:
        earlier = replay(stop=before)
        left = room - timeline.used(earlier.start, before)
        halvings_before = halvings_beside(first.recalled, earlier, left)
    recalled = halved(request, view, first.recalled, halvings)
    if window.start > settled:
        recalled = replace(recalled, certificate=NoCertificate(Unproven.UNWEIGHED))
    return _Sent(window, cut, carried, recalled, before >= asked and halvings != halvings_before)


def _put_carried(request: Request, view: View, marks: WaterMarks, sent: _Sent) -> bool:
    """Put what is carried over in the view while there is room; whether it just lost its room."""
    has_room = partial(has_room_for, request, marks, sent.carried, sent.window.start)
    if has_room(len(request.entries)):
        put_carried(view, sent.carried)
        return False
    return has_room(place_before(request))


def summary_before_the_first_cut(request: Request) -> SummaryJob | None:
    """The summary that should be written while the whole chat still fits; None for none yet."""
    if request.allowed is None or request.advisers.summaries is None:
        return None
    marks, aside = water_marks(request, forced_atoms(request))
    return due_summary(request, marks, 0, aside, None)


def _put_summary(request: Request, view: View, marks: WaterMarks, cut: int, aside: int) -> None:
    """Show the summary of what lies before a cut, in so many tokens, and see which one is due."""
    view.carried_before = cut
    view.summary = shown_summary(request, cut, aside)
    request.due = due_summary(request, marks, cut, aside, view.summary)


def _changed(request: Request, view: View) -> bool:
    """Whether the newest request is known to have sent another window or another summary.

    So it does after a question for whose sake the window made room, and when a summary came.
    """
    now = view.as_sent(len(request.entries))
    return now is not None and request.transcript.sent.was_otherwise(request.asked_as, now)


def _was_sent_whole(request: Request) -> bool:
    """Whether the chat fitted whole at the request before this one."""
    before = place_before(request)
    return before > 0 and int(request.timeline.tokens[before]) <= free_room(request, ())
