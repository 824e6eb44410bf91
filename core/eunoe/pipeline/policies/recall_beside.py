"""What comes back beside the window of ``stable``, and what of it stays beside a running turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from eunoe.domain.atom import Atom, first_place
from eunoe.domain.budget import LEAST_CACHED_TOKENS
from eunoe.domain.certificate import NoCertificate, Unproven
from eunoe.pipeline.arranging.view import View
from eunoe.pipeline.policies.carrying import CarriedOver
from eunoe.pipeline.recalling.choosing import Choice, choose_atoms
from eunoe.pipeline.recalling.gate import need_of_recall
from eunoe.pipeline.recalling.proving import prove_closed
from eunoe.pipeline.recalling.quoted_block import tokens_as_quoted
from eunoe.pipeline.recalling.recall import WorthCurve, atom_pool, worth_curve
from eunoe.pipeline.request import Request
from eunoe.stages.quoting import BLOCK_TOKENS
from eunoe.stages.window import WaterMarks, WindowStart, newest_that_fit

_ENOUGH_WORTH = 0.9
"""Share of the relevance of a deep recall at which a light one of half its size or more will do."""
_ALL_WORTH = 0.99
"""The same for a light recall of any size."""
_MOST_HALVINGS = 4
"""What was recalled is shortened to an eighth beside a running turn; then it goes."""
_LAST_TURN_WORTH = 0.95
"""Share of the relevance of a deep recall at which the turn before stays beside what is recalled:
what was said last is what people speak of without naming it."""
_UNASKED_SHARE = 0.5
"""Share of the free room for values that no question asked for, where nothing else is in view; the
rest is left for the calls of the turn."""
_UNASKED_TOKENS = 700
"""Tokens of such values at most, with what a cut carried over: so many serve most calls."""
_LEAST_WANTED = 800
"""Tokens that a recall may always take: so few cost little, and what is hard to find is there."""


def recall_beside(
    request: Request,
    view: View,
    window: WindowStart,
    marks: WaterMarks,
    carried: CarriedOver,
) -> tuple[Choice, WindowStart]:
    """What comes back beside the window; a plain question about far back may shrink the window."""
    asked = request.first_asked
    seen = [i for a in carried.atoms for i in a.indices]
    alone = window.start >= request.turn_start
    by_values = request.acts_by_tools and (alone or marks.room < LEAST_CACHED_TOKENS)
    need = need_of_recall(request, window.start, seen, unasked=by_values)
    view.recall_reason, view.scored = need.reason, need.scored
    if need.scored is None:
        return Choice(), window
    if need.depth == "none":
        beside = marks.room - request.timeline.used(request.turn_start, asked)
        proof = prove_closed(request, need.scored, window.start, beside)
        return Choice(certificate=proof), window
    room, in_view = marks.room - carried.tokens, _places_of(request, carried.atoms)
    candidates = partial(
        atom_pool, request, need.scored, 0, quoted=True, in_view=in_view, by_values=by_values
    )
    pool = candidates(window.start)
    free = room - request.timeline.used(window.start, asked)
    choose = partial(choose_atoms, request, need.scored, quoted=True)
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
    shrunk = _shrunk_start(request, curve, room, wanted)
    large = 2 * free >= request.settings.recall_tokens
    enough = curve.within(free) >= (_ENOUGH_WORTH if large else _ALL_WORTH) * curve.within(wanted)
    if shrunk <= window.start or enough:
        return choose(pool, free), window
    left = room - request.timeline.used(shrunk, asked)
    most = min(left, max(wanted, request.settings.recall_tokens))
    return _given_back(request, choose(candidates(shrunk), most), room, shrunk, asked)


def _places_of(request: Request, atoms: Sequence[Atom]) -> list[int]:
    """Places of finished atoms among all of them."""
    holder = request.transcript.atom_of_message.view()
    return [int(holder[a.first]) for a in atoms]


def _shrunk_start(request: Request, curve: WorthCurve, room: int, wanted: int) -> int:
    """Where the window begins beside so many recalled tokens.

    The turn before stays in it, unless its room is needed to bring back what is relevant.
    """
    timeline, current, asked = request.timeline, request.turn_start, request.first_asked
    fitting = newest_that_fit(timeline, room - wanted, asked)
    before = int(timeline.turn_starts[int(timeline.turn_starts.searchsorted(current)) - 1])
    left = room - timeline.used(before, asked)
    small = room < LEAST_CACHED_TOKENS
    if small or curve.within(left) < _LAST_TURN_WORTH * curve.within(wanted):
        return fitting
    return min(fitting, before)


def _given_back(
    request: Request, deep: Choice, room: int, shrunk: int, asked: int
) -> tuple[Choice, WindowStart]:
    """The choice, with the room that it left unused given back to the window.

    A line may take a token more than it was estimated at; a window that had grown back to the last
    token would then push out what was recalled.
    """
    left = room - deep.tokens - len(deep.atoms)
    start = min(shrunk, newest_that_fit(request.timeline, left, asked))
    outside = tuple(a for a in deep.atoms if a.first < start)
    forms = tuple(f for f in deep.forms if f.atom.first < start)
    return replace(deep, atoms=outside, forms=forms), WindowStart(start, True, True)


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


def halvings_beside(recalled: Choice, window: WindowStart, left: int) -> int:
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


def halved(request: Request, view: View, recalled: Choice, halvings: int) -> Choice:
    """The most relevant of what was recalled, in a half of its tokens, a quarter, and so on."""
    if not halvings:
        return recalled
    left = (recalled.tokens >> halvings) - BLOCK_TOKENS if halvings < _MOST_HALVINGS else 0
    places = np.array(_places_of(request, recalled.atoms), dtype=np.int64)
    own = request.transcript.atom_tokens.view()[places]
    sizes = tokens_as_quoted(request, places, own).tolist()
    sized, scored = list(zip(recalled.atoms, sizes, strict=True)), view.scored
    kept: list[Atom] = []
    taken = BLOCK_TOKENS
    for atom, size in sorted(sized, key=lambda x: -scored.of(x[0]) if scored else 0.0):
        if size <= left:
            kept.append(atom)
            left, taken = left - size, taken + size
    part = "part of what was recalled" if kept else "what was recalled"
    view.recall_reason = f"{part} had to make room for the running turn"
    gave_way = NoCertificate(Unproven.GAVE_WAY)
    if not kept:
        return Choice(certificate=gave_way)
    atoms = tuple(sorted(kept, key=first_place))
    return Choice(atoms=atoms, tokens=taken, certificate=gave_way)
