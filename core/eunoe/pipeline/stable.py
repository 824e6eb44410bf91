"""The policy ``stable``: a window that only grows between cuts, and what this question needs."""

from __future__ import annotations

from dataclasses import replace

from eunoe.pipeline.gate import need_of_recall
from eunoe.pipeline.in_place import context_start, forced_atoms, free_room, with_forced
from eunoe.pipeline.recall import Choice, WorthCurve, choose_atoms, worth_curve
from eunoe.pipeline.request import Request
from eunoe.pipeline.view import View
from eunoe.stages.window import (
    LEAST_CACHED_TOKENS,
    WaterMarks,
    WindowStart,
    newest_that_fit,
    replay_window,
)

_ENOUGH_WORTH = 0.9
"""Share of the relevance of a deep recall at which a light one of half its size or more will do."""


_ALL_WORTH = 0.99
"""The same for a light recall of any size."""
_LEAST_WANTED = 800
"""Tokens that a recall may always take: so few cost little, and what is hard to find is there."""


def stable_view(request: Request) -> View:
    """The window that keeps the cache, and what this question needs from before it."""
    forced = forced_atoms(request)
    room = free_room(request, forced)
    size, settings = len(request.entries), request.settings
    asked = min(size, (request.question or request.turn_start) + 1)
    reserve = recall_reserve(request, room)
    marks = WaterMarks(room=room, high=settings.high_water, low=settings.low_water, reserve=reserve)
    window = replay_window(request.timeline, marks, start=0, after=0, stop=asked)
    floor = context_start(request)
    recalled, view = Choice(), View(in_place=[])
    if floor == 0 and window.start > 0:
        recalled, window = _recall_beside(request, view, window, marks, asked)
    marks = replace(marks, extra=recalled.tokens)
    fresh = window.fresh
    if size > asked:
        asked_before = bool((request.timeline.requests >= asked).any())
        window = replay_window(request.timeline, marks, start=window.start, after=asked, stop=size)
        fresh = window.fresh or (fresh and not asked_before)
    if window.fits:
        view.quoted, view.gists = recalled.in_block(), recalled.gists()
        view.certificate = recalled.certificate
    elif recalled.tokens:
        view.recall_reason = "what was recalled had to make room for the running turn"
    declared = fresh or _was_sent_whole(request)
    return with_forced(request, max(window.start, floor), forced, view, declared=declared)


def _was_sent_whole(request: Request) -> bool:
    """Whether the chat fitted whole at the request before this one."""
    line = request.timeline
    place = int(line.requests.searchsorted(len(request.entries))) - 1
    return place >= 0 and int(line.tokens[line.requests[place]]) <= free_room(request, ())


def recall_reserve(request: Request, room: int) -> int:
    """Tokens that the window leaves free, so that recall need not move it."""
    settings = request.settings
    if settings.recall == "never" or room < LEAST_CACHED_TOKENS:
        return 0
    return min(settings.recall_tokens, int(room * settings.reserve_share))


def _recall_beside(
    request: Request, view: View, window: WindowStart, marks: WaterMarks, asked: int
) -> tuple[Choice, WindowStart]:
    """What comes back beside the window; a plain question about far back may shrink the window."""
    need = need_of_recall(request, window.start)
    view.recall_reason, view.scored = need.reason, need.scored
    if need.depth == "none" or need.scored is None:
        return Choice(), window
    scored, settings = need.scored, request.settings
    curve = worth_curve(request, scored, 0, window.start)
    wanted = _wanted_tokens(request, curve, marks, asked)
    free = min(wanted, marks.room - request.timeline.used(window.start, asked))
    if need.depth == "light" or free >= wanted:
        return choose_atoms(request, scored, 0, window.start, free, quoted=True), window
    shrunk = newest_that_fit(request.timeline, marks.room - wanted, asked)
    large = 2 * free >= settings.recall_tokens
    enough = curve.within(free) >= (_ENOUGH_WORTH if large else _ALL_WORTH) * curve.within(wanted)
    if shrunk <= window.start or enough:
        return choose_atoms(request, scored, 0, window.start, free, quoted=True), window
    room = marks.room - request.timeline.used(shrunk, asked)
    most = max(wanted, min(room, settings.recall_tokens))
    deep = choose_atoms(request, scored, 0, shrunk, most, quoted=True)
    return _given_back(request, deep, marks.room, shrunk, asked)


def _given_back(
    request: Request, deep: Choice, room: int, shrunk: int, asked: int
) -> tuple[Choice, WindowStart]:
    """The choice, with the room that it left unused given back to the window."""
    start = min(shrunk, newest_that_fit(request.timeline, room - deep.tokens, asked))
    outside = tuple(a for a in deep.atoms if a.first < start)
    return replace(deep, atoms=outside), WindowStart(start, True, True)


def _wanted_tokens(request: Request, curve: WorthCurve, marks: WaterMarks, asked: int) -> int:
    """Tokens that recalled text may take: enough for the evidence, whatever the budget.

    Evidence needs a number of tokens, not a share of the window: small budgets give most of their
    room to it, large ones a fraction. A question that few messages speak to needs fewer.
    """
    settings = request.settings
    room = marks.room - int(request.timeline.system_tokens[asked])
    share = max(settings.recall_tokens, int(room * settings.recall_share))
    plenty = curve.tokens_for(settings.recall_worth * curve.within(share))
    most = min(share, int(room * settings.deep_recall_share))
    return min(most, max(plenty, _LEAST_WANTED))
