"""The policies: which messages stand in place, and which come back in the quoted block.

``stable``: a window that only grows between cuts, and recall for the questions that need it.
``relevance``: the knapsack over the whole history, kept messages in place.
``window``: the newest turns that fit. ``off``: everything, mended only. ``lethe``, ``lethes``,
``dycp``, ``lethus``: as published elsewhere, see ``pipeline.presets``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from eunoe.domain.atom import Atom
from eunoe.domain.errors import TimeIsOverError
from eunoe.domain.report import Cut
from eunoe.pipeline.gate import need_of_recall
from eunoe.pipeline.presets.reading import read_preset_chat
from eunoe.pipeline.presets.registry import BLOCK_PRESETS, PRESETS, WORD_PRESETS
from eunoe.pipeline.recall import Choice, Scored, choose_atoms, score_history, worth_within
from eunoe.pipeline.request import LIST_TOKENS, Request
from eunoe.pipeline.view import View
from eunoe.stages.placement import PlacementZones
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


def whole_view(request: Request) -> View:
    """Everything in place, but what a flag leaves out."""
    start = context_start(request)
    return View(in_place=_from(request, start), cut=_cut(request, start, declared=False))


def decide(request: Request, policy: str) -> View:
    """The view that a policy wants, before it is fitted to the budget exactly."""
    if policy == "relevance":
        return relevance_view(request)
    if policy == "window":
        return window_view(request)
    if policy in PRESETS:
        return preset_view(request, policy)
    return stable_view(request) if policy == "stable" else whole_view(request)


def decide_in_time(request: Request, policy: str) -> View:
    """The view that a policy wants; the newest turns that fit once the time is over."""
    if not request.expired():
        try:
            return decide(request, policy)
        except TimeIsOverError:
            pass
    view = window_view(request)
    view.warnings = (
        "the deadline passed before the history was scored: the newest turns are sent",
    )
    return view


def context_start(request: Request) -> int:
    """Where ``!context=N`` lets the history begin; 0 without the flag."""
    wanted = request.flags.now.context
    turns = request.transcript.turns.view()
    if wanted is None or wanted > len(turns):
        return 0
    return request.turn_start if wanted <= 1 else int(turns[len(turns) - wanted + 1])


def is_dropped(request: Request, atom: Atom) -> bool:
    """Whether a flag leaves the atom out."""
    return any(request.dropped_by_flag(i) for i in atom.indices)


def forced_atoms(request: Request) -> list[Atom]:
    """Atoms of the finished turns that a flag keeps: pins, a kept tag, the newest few messages.

    Those that do not fit beside the system messages and the current turn are left out, the newest
    ones are taken first.
    """
    kept = request.kept_by_flag
    if not kept:
        return []
    room = _room(request, ()) - request.timeline.used(request.turn_start, len(request.entries))
    forced: list[Atom] = []
    for atom in reversed(request.atoms_between(0, request.turn_start)):
        if atom.system or kept.isdisjoint(atom.indices) or is_dropped(request, atom):
            continue
        if (tokens := request.tokens_of(atom)) <= room:
            forced.append(atom)
            room -= tokens
    return forced[::-1]


def _from(request: Request, start: int) -> list[Atom]:
    """System atoms before ``start``, and every atom from there to the current turn."""
    end = request.turn_start
    after = request.atoms_between(start, end)
    if request.flags.by_message:
        after = [a for a in after if not is_dropped(request, a)]
    return request.systems_before(start) + after


def _cut(request: Request, start: int, *, declared: bool) -> Cut | None:
    if start <= 0:
        return None
    line = request.timeline
    dropped = int(line.tokens[start] - line.system_tokens[start])
    return Cut(index=start, tokens_dropped=dropped, declared=declared) if dropped else None


def _room(request: Request, forced: Sequence[Atom]) -> int:
    allowed = request.allowed if request.allowed is not None else 1 << 60
    return allowed - LIST_TOKENS - sum(request.tokens_of(a) for a in forced)


def window_view(request: Request) -> View:
    """The newest turns that fit, cut anew at each request."""
    forced = forced_atoms(request)
    start = newest_that_fit(request.timeline, _room(request, forced), len(request.entries))
    start = max(start, context_start(request))
    return _with_forced(request, start, forced, View(in_place=[]), declared=True)


def stable_view(request: Request) -> View:
    """The window that keeps the cache, and what this question needs from before it."""
    forced = forced_atoms(request)
    room = _room(request, forced)
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
        window = replay_window(request.timeline, marks, start=window.start, after=asked, stop=size)
        fresh = window.fresh
    if window.fits:
        view.quoted, view.gists = recalled.in_block(), recalled.gists()
        view.certificate = recalled.certificate
    elif recalled.tokens:
        view.recall_reason = "what was recalled had to make room for the running turn"
    declared = fresh or _was_sent_whole(request)
    return _with_forced(request, max(window.start, floor), forced, view, declared=declared)


def _was_sent_whole(request: Request) -> bool:
    """Whether the chat fitted whole at the request before this one."""
    line = request.timeline
    place = int(line.requests.searchsorted(len(request.entries))) - 1
    return place >= 0 and int(line.tokens[line.requests[place]]) <= _room(request, ())


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
    wanted = _wanted_tokens(request, marks, asked)
    free = min(wanted, marks.room - request.timeline.used(window.start, asked))
    scored, settings = need.scored, request.settings
    if need.depth == "light" or free >= wanted:
        return choose_atoms(request, scored, 0, window.start, free, quoted=True), window
    light, full = worth_within(request, scored, 0, window.start, (free, wanted))
    shrunk = newest_that_fit(request.timeline, marks.room - wanted, asked)
    large = 2 * free >= settings.recall_tokens
    enough = light >= (_ENOUGH_WORTH if large else _ALL_WORTH) * full
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


def _wanted_tokens(request: Request, marks: WaterMarks, asked: int) -> int:
    """Tokens that recalled text may take: enough for the evidence, whatever the budget.

    Evidence needs a number of tokens, not a share of the window: small budgets give most of their
    room to it, large ones a fraction.
    """
    settings = request.settings
    room = marks.room - int(request.timeline.system_tokens[asked])
    share = max(settings.recall_tokens, int(room * settings.recall_share))
    return min(share, int(room * settings.deep_recall_share))


def relevance_view(request: Request) -> View:
    """The knapsack over the whole history; kept messages stand in place where roles allow it."""
    forced = forced_atoms(request)
    scored = score_history(request)
    size = len(request.entries)
    line = request.timeline
    current = line.used(request.turn_start, size)
    budget = _room(request, forced) - current
    quoted = request.profile.alternate
    start = context_start(request)
    choice = choose_atoms(request, scored, start, request.turn_start, budget, quoted=quoted)
    if not choice.tokens:
        view = window_view(request)
        view.scored, view.recall_reason = scored, "nothing resembles the question: recency fallback"
        return view
    view = View(in_place=[], scored=scored, certificate=choice.certificate, gists=choice.gists())
    view.ranked = True
    systems = request.systems_before(request.turn_start)
    if quoted:
        view.quoted = sorted([*choice.in_block(), *forced], key=lambda a: a.first)
        view.in_place = systems
    else:
        view.quoted = [e.atom for e in choice.excerpts]
        view.in_place = sorted([*systems, *choice.atoms, *forced], key=lambda a: a.first)
    view.recall_reason = "the whole history was ranked by relevance to the question"
    view.cut = _cut(request, request.turn_start, declared=True)
    return view


def preset_view(request: Request, name: str) -> View:
    """What a preset chooses, in place where roles allow it and the preset asks for no block."""
    forced = forced_atoms(request)
    budget = _room(request, forced) - request.timeline.used(
        request.turn_start, len(request.entries)
    )
    in_block = request.profile.alternate or name in BLOCK_PRESETS
    start = context_start(request)
    chat = read_preset_chat(
        request, forced, budget, start, in_block=in_block, embedded=name not in WORD_PRESETS
    )
    plan = PRESETS[name](chat) if chat is not None else None
    if plan is None:
        view = window_view(request)
        view.recall_reason = "nothing to choose from: recency fallback"
        return view
    atoms = [request.transcript.atoms[k] for k in plan.chosen]
    view = View(in_place=[], scored=Scored(plan.values), certificate=plan.certificate, ranked=True)
    view.recall_reason, view.gists = plan.reason, dict(plan.gists)
    systems = request.systems_before(request.turn_start)
    if in_block:
        view.quoted = sorted([*atoms, *forced], key=lambda a: a.first)
        view.in_place = systems
    else:
        view.in_place = sorted([*systems, *atoms, *forced], key=lambda a: a.first)
    if name in BLOCK_PRESETS:
        view.zones = PlacementZones(
            head=frozenset(request.transcript.atoms[k].first for k in plan.head),
            tail=frozenset(request.transcript.atoms[k].first for k in plan.tail),
        )
    view.cut = _cut(request, request.turn_start, declared=True)
    return view


def _with_forced(
    request: Request, start: int, forced: Sequence[Atom], view: View, *, declared: bool
) -> View:
    """The view from ``start``, forced atoms before it added: users in place, others quoted."""
    view.in_place = _from(request, start)
    view.cut = _cut(request, start, declared=declared)
    early = [a for a in forced if a.first < start]
    in_place_ok = not request.profile.alternate
    for atom in early:
        message = request.messages[atom.first]
        view.reasons[atom.first] = "kept by a flag"
        if in_place_ok and message.role == "user":
            view.in_place.append(atom)
        else:
            view.quoted.append(atom)
    view.in_place.sort(key=lambda a: a.first)
    view.quoted.sort(key=lambda a: a.first)
    return view
