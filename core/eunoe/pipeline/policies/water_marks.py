"""When the window of a request is cut and how deep, and where that puts its start."""

from __future__ import annotations

from collections.abc import Sequence

from eunoe.domain.atom import Atom
from eunoe.domain.budget import LEAST_CACHED_TOKENS
from eunoe.pipeline.arranging.in_place import free_room
from eunoe.pipeline.recalling.shown_summary import summary_room
from eunoe.pipeline.request import Request
from eunoe.stages.window import WaterMarks, WindowStart, replay_window

_CUTS_REMEMBERED = 8


def water_marks(request: Request, forced: Sequence[Atom]) -> tuple[WaterMarks, int]:
    """When to cut and how deep, and the tokens that are set aside for a summary."""
    room = free_room(request, forced)
    aside = summary_room(request, room)
    room -= aside
    settings = request.settings
    marks = WaterMarks(
        room=room,
        high=settings.high_water,
        low=settings.low_water,
        reserve=recall_reserve(request, room),
        carry=settings.carry_share if room >= LEAST_CACHED_TOKENS else 0.0,
    )
    return marks, aside


def recall_reserve(request: Request, room: int) -> int:
    """Tokens that the window leaves free, so that recall need not move it."""
    settings = request.settings
    if settings.recall == "never" or room < LEAST_CACHED_TOKENS:
        return 0
    return min(settings.recall_tokens, int(room * settings.reserve_share))


def replayed_start(request: Request, marks: WaterMarks, asked: int) -> WindowStart:
    """Where the window begins; the replay goes on from the last cut that is known."""
    known = request.transcript.cuts
    start, after = known.pop(marks, (0, 0))
    window = replay_window(request.timeline, marks, start=start, after=after, stop=asked)
    if window.settled[1] < request.turn_start:
        start, after = window.settled
    known[marks] = start, after
    if len(known) > _CUTS_REMEMBERED:
        del known[next(iter(known))]
    return window


def place_before(request: Request) -> int:
    """Where the request before this one stopped; 0 if this is the first."""
    requests = request.timeline.requests
    place = int(requests.searchsorted(len(request.entries))) - 1
    return int(requests[place]) if place >= 0 else 0
