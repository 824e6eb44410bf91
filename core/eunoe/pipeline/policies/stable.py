"""The policy ``stable``: a window that only grows between cuts, and what this question needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from eunoe.domain.atom import Atom
from eunoe.pipeline.arranging.in_place import context_start, forced_atoms, free_room, with_forced
from eunoe.pipeline.arranging.view import View
from eunoe.pipeline.policies.carrying import CARRY_REASON, carried_over
from eunoe.pipeline.recalling.gate import need_of_recall
from eunoe.pipeline.recalling.recall import Choice, WorthCurve, atom_pool, choose_atoms, worth_curve
from eunoe.pipeline.recalling.shown_summary import due_summary, shown_summary, summary_room
from eunoe.pipeline.request import Request
from eunoe.pipeline.summaries.writing import SummaryJob
from eunoe.stages.quoting import BLOCK_TOKENS
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
_MOST_HALVINGS = 4
"""What was recalled is shortened to an eighth beside a running turn; then it goes."""
_UNASKED_SHARE = 0.5
"""Share of the free room for values that no question asked for, where nothing else is in view; the
rest is left for the calls of the turn."""
_UNASKED_TOKENS = 700
"""Tokens of such values at most, with what a cut carried over: so many serve most calls."""
_LEAST_WANTED = 800
"""Tokens that a recall may always take: so few cost little, and what is hard to find is there."""
_CUTS_REMEMBERED = 8


def stable_view(request: Request) -> View:
    """The window that keeps the cache, and what this question needs from before it."""
    forced = forced_atoms(request)
    marks, aside = _water_marks(request, forced)
    size = len(request.entries)
    asked = request.first_asked
    window = _replayed(request, marks, asked)
    carried = _carry_over(request, marks, window.start)
    floor = context_start(request)
    recalled, view = Choice(), View(in_place=[])
    cut, shortened = window.start, False
    if floor == 0 and window.start > 0:
        recalled, window = _recall_beside(request, view, window, marks, asked, carried)
    marks = replace(marks, extra=recalled.tokens)
    fresh = window.fresh
    if size > asked:
        settled = window.start
        replay = partial(replay_window, request.timeline, marks, start=settled, after=asked)
        window, place = replay(stop=size), _place_before(request)
        fresh = window.fresh
        if window.start > settled:
            cut = window.start
            carried = _carry_over(request, marks, window.start)
        room = marks.room - (carried.tokens if carried.atoms else 0)
        then = replay(stop=place) if place > asked else window
        halvings = _halvings(recalled, window, room - request.timeline.used(window.start, size))
        left = room - request.timeline.used(then.start, place)
        before = _halvings(recalled, then, left) if place > asked else 0
        shortened = place >= asked and halvings != before
        recalled = _halved(request, view, recalled, halvings)
    view.quoted, view.gists = recalled.in_block(), recalled.gists()
    view.certificate = recalled.certificate
    declared = fresh or shortened or _was_sent_whole(request)
    if floor == 0 and aside:
        _put_summary(request, view, marks, cut, aside)
    view.start = start = max(window.start, floor)
    declared |= _changed(request, view)
    if carried.atoms and floor == 0:
        if _has_room(request, marks, carried, window.start, size):
            _put_carried(view, carried)
        else:
            declared |= _has_room(request, marks, carried, window.start, _place_before(request))
    return with_forced(request, start, forced, view, declared=declared)


def _halvings(recalled: Choice, window: WindowStart, left: int) -> int:
    """How often what was recalled is halved, so that it fits beside a running turn.

    By halves, since each change makes the provider read the turn anew.

    Args:
        window: at some step of the turn.
        left: tokens that are free beside it.
    """
    if window.fits or not recalled.tokens:
        return 0
    fitting = (h for h in range(_MOST_HALVINGS) if recalled.tokens >> h <= left)
    return next(fitting, _MOST_HALVINGS)


def _halved(request: Request, view: View, recalled: Choice, halvings: int) -> Choice:
    """The most relevant of what was recalled, in a half of its tokens, a quarter, and so on."""
    if not halvings:
        return recalled
    left = (recalled.tokens >> halvings) - BLOCK_TOKENS if halvings < _MOST_HALVINGS else 0
    kept: list[Atom] = []
    scored = view.scored
    for atom in sorted(recalled.atoms, key=lambda a: -scored.of(a) if scored else 0.0):
        tokens = request.tokens_of(atom)
        if tokens <= left:
            kept.append(atom)
            left -= tokens
    part = "part of what was recalled" if kept else "what was recalled"
    view.recall_reason = f"{part} had to make room for the running turn"
    if not kept:
        return Choice()
    kept.sort(key=lambda a: a.first)
    return Choice(atoms=tuple(kept), tokens=sum(map(request.tokens_of, kept)) + BLOCK_TOKENS)


def _water_marks(request: Request, forced: Sequence[Atom]) -> tuple[WaterMarks, int]:
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


def summary_before_the_first_cut(request: Request) -> SummaryJob | None:
    """The summary that should be written while the whole chat still fits; None for none yet."""
    if request.allowed is None or request.advisers.summaries is None:
        return None
    marks, aside = _water_marks(request, forced_atoms(request))
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


def _replayed(request: Request, marks: WaterMarks, asked: int) -> WindowStart:
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


@dataclass(frozen=True, slots=True)
class _CarriedOver:
    """What a cut at ``start`` carries over, and its tokens in the view."""

    start: int = 0
    atoms: tuple[Atom, ...] = ()
    tokens: int = 0


_NOTHING_CARRIED = _CarriedOver()


def _carry_over(request: Request, marks: WaterMarks, start: int) -> _CarriedOver:
    """What a cut carries over: it follows from the messages before it and the room alone."""
    atoms = carried_over(request, start, marks.carried(request.timeline, start))
    if not atoms:
        return _NOTHING_CARRIED
    return _CarriedOver(start, tuple(atoms), marks.carried(request.timeline, start))


def _has_room(
    request: Request, marks: WaterMarks, carried: _CarriedOver, start: int, stop: int
) -> bool:
    """Whether what is carried over fits beside the window at the request before ``stop``.

    What is recalled plays no part: between cuts it must neither hide nor bring what is carried.
    """
    return request.timeline.used(start, max(start, stop)) + carried.tokens <= marks.room


def _place_before(request: Request) -> int:
    """Where the request before this one stopped; 0 if this is the first."""
    requests = request.timeline.requests
    place = int(requests.searchsorted(len(request.entries))) - 1
    return int(requests[place]) if place >= 0 else 0


def _put_carried(view: View, carried: _CarriedOver) -> None:
    """Put what is carried over in the view, but what was recalled as well."""
    twice = {a.first for a in view.quoted}
    view.carried = [a for a in carried.atoms if a.first not in twice]
    view.carried_before = carried.start
    view.reasons.update((i, CARRY_REASON) for a in view.carried for i in a.indices)


def _was_sent_whole(request: Request) -> bool:
    """Whether the chat fitted whole at the request before this one."""
    before = _place_before(request)
    return before > 0 and int(request.timeline.tokens[before]) <= free_room(request, ())


def recall_reserve(request: Request, room: int) -> int:
    """Tokens that the window leaves free, so that recall need not move it."""
    settings = request.settings
    if settings.recall == "never" or room < LEAST_CACHED_TOKENS:
        return 0
    return min(settings.recall_tokens, int(room * settings.reserve_share))


def _recall_beside(
    request: Request,
    view: View,
    window: WindowStart,
    marks: WaterMarks,
    asked: int,
    carried: _CarriedOver,
) -> tuple[Choice, WindowStart]:
    """What comes back beside the window; a plain question about far back may shrink the window."""
    seen = [i for a in carried.atoms for i in a.indices]
    alone = window.start >= request.turn_start
    by_values = request.acts_by_tools and (alone or marks.room < LEAST_CACHED_TOKENS)
    need = need_of_recall(request, window.start, seen, unasked=by_values)
    view.recall_reason, view.scored = need.reason, need.scored
    if need.depth == "none" or need.scored is None:
        return Choice(), window
    room, in_view = marks.room - carried.tokens, _places_of(request, carried.atoms)
    candidates = partial(
        atom_pool, request, need.scored, 0, quoted=True, in_view=in_view, by_values=by_values
    )
    pool = candidates(window.start)
    choose = partial(choose_atoms, request, need.scored, quoted=True)
    free = room - request.timeline.used(window.start, asked)
    if need.unasked:
        most = min(int(free * _UNASKED_SHARE), _UNASKED_TOKENS - carried.tokens)
        return choose(pool, most), window
    if by_values and alone:
        return choose(pool, free), window
    curve = worth_curve(pool)
    wanted = _wanted_tokens(request, curve, marks, asked)
    free = min(wanted, free)
    if need.depth == "light" or free >= wanted:
        return choose(pool, free), window
    shrunk = newest_that_fit(request.timeline, room - wanted, asked)
    large = 2 * free >= request.settings.recall_tokens
    enough = curve.within(free) >= (_ENOUGH_WORTH if large else _ALL_WORTH) * curve.within(wanted)
    if shrunk <= window.start or enough:
        return choose(pool, free), window
    left = room - request.timeline.used(shrunk, asked)
    most = max(wanted, min(left, request.settings.recall_tokens))
    return _given_back(request, choose(candidates(shrunk), most), room, shrunk, asked)


def _places_of(request: Request, atoms: Sequence[Atom]) -> list[int]:
    """Places of finished atoms among all of them."""
    holder = request.transcript.atom_of_message.view()
    return [int(holder[a.first]) for a in atoms]


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
