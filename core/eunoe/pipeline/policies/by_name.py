"""The policies: which messages stand in place, and which come back in the quoted block.

``stable``: a window that only grows between cuts, and recall for the questions that need it.
``relevance``: the knapsack over the whole history, kept messages in place.
``window``: the newest turns that fit. ``off``: everything, mended only. ``lethe``, ``lethes``,
``dycp``, ``lethus``: as published elsewhere, ``unified``: these joined, see ``policies.presets``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from eunoe.domain.atom import first_place, place_in_list
from eunoe.domain.certificate import ALL_SENT, BY_RECENCY, NoCertificate, Unproven
from eunoe.domain.errors import TimeIsOverError
from eunoe.pipeline.arranging.in_place import (
    context_start,
    cut_before,
    forced_atoms,
    free_room,
    whole_view,
    with_forced,
)
from eunoe.pipeline.arranging.view import View
from eunoe.pipeline.policies.presets.reading import read_preset_chat
from eunoe.pipeline.policies.presets.registry import BLOCK_PRESETS, PRESETS, WORD_PRESETS
from eunoe.pipeline.policies.stable import stable_view
from eunoe.pipeline.recalling.by_strategy import track_sent
from eunoe.pipeline.recalling.choosing import choose_atoms
from eunoe.pipeline.recalling.quoted_block import ShownPart
from eunoe.pipeline.recalling.recall import Scored, atom_pool, score_history
from eunoe.pipeline.request import Request
from eunoe.stages.placement import PlacementZones
from eunoe.stages.window import newest_that_fit


def decide_in_time(request: Request, policy: str) -> View:
    """The view that a policy wants, before it is fitted to the budget exactly.

    The newest turns that fit, once the time is over.
    """
    if not request.expired():
        try:
            return POLICY_VIEWS[policy](request)
        except TimeIsOverError:
            pass
    view = window_view(request)
    if view.certificate is BY_RECENCY:
        view.certificate = NoCertificate(Unproven.LATE)
    view.warnings = (
        "the deadline passed before the history was scored: the newest turns are sent",
    )
    return view


def window_view(request: Request) -> View:
    """The newest turns that fit, cut anew at each request."""
    forced = forced_atoms(request)
    start = newest_that_fit(request.timeline, free_room(request, forced), len(request.entries))
    floor = context_start(request)
    view = View(in_place=[], certificate=ALL_SENT if start <= floor else BY_RECENCY)
    return with_forced(request, max(start, floor), forced, view, declared=True)


def relevance_view(request: Request) -> View:
    """The knapsack over the whole history; kept messages stand in place where roles allow it."""
    forced = forced_atoms(request)
    scored = score_history(request)
    size = len(request.entries)
    line = request.timeline
    current = line.used(request.turn_start, size)
    budget = free_room(request, forced) - current
    quoted = request.profile.alternate
    start = context_start(request)
    tracked = request.strategies.tracker is not None
    pool = atom_pool(request, scored, start, request.turn_start, quoted=quoted, by_values=tracked)
    choice = choose_atoms(request, scored, pool, budget, quoted=quoted)
    if not choice.tokens:
        view = window_view(request)
        view.scored, view.recall_reason = scored, "nothing resembles the question: recency fallback"
        return view
    view = View(in_place=[], scored=scored, certificate=choice.certificate, parts=choice.parts())
    view.ranked, view.gains = True, choice.gains
    systems = request.systems_before(request.turn_start)
    request.due = choice.due
    if quoted:
        view.quoted = sorted([*choice.in_block(), *forced], key=first_place)
        view.in_place = systems
    else:
        view.quoted = [f.atom for f in choice.forms]
        view.in_place = sorted([*systems, *choice.atoms, *forced], key=place_in_list)
        track_sent(request, [a for a in view.in_place if not a.system])
    view.recall_reason = "the whole history was ranked by relevance to the question"
    view.cut = cut_before(request, request.turn_start, declared=True)
    return view


def preset_view(request: Request, name: str) -> View:
    """What a preset chooses, in place where roles allow it and the preset asks for no block."""
    forced = forced_atoms(request)
    budget = free_room(request, forced) - request.timeline.used(
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
    view.recall_reason = plan.reason
    view.parts = {i: ShownPart(text) for i, text in plan.gists.items()}
    systems = request.systems_before(request.turn_start)
    if in_block:
        view.quoted = sorted([*atoms, *forced], key=first_place)
        view.in_place = systems
    else:
        view.in_place = sorted([*systems, *atoms, *forced], key=place_in_list)
    if name in BLOCK_PRESETS:
        view.zones = PlacementZones(
            head=frozenset(request.transcript.atoms[k].first for k in plan.head),
            tail=frozenset(request.transcript.atoms[k].first for k in plan.tail),
        )
    view.cut = cut_before(request, request.turn_start, declared=True)
    return view


POLICY_VIEWS: dict[str, Callable[[Request], View]] = {
    "stable": stable_view,
    "relevance": relevance_view,
    "window": window_view,
    "off": whole_view,
    **{name: partial(preset_view, name=name) for name in PRESETS},
}
"""What each of ``POLICY_NAMES`` sends."""
