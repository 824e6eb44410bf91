"""Fit a view into the budget: what was recalled gives way, then old turns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from eunoe.domain.atom import Atom
from eunoe.domain.certificate import Certificate, CertificateBasis, NoCertificate, Proof, Unproven
from eunoe.domain.report import Cut
from eunoe.pipeline.arranging.view import Built, View, build_view, stand_in_place
from eunoe.pipeline.request import Request


def fit_view(request: Request, view: View) -> Built:
    """Build the view; while it is over the budget, leave out what was recalled, then old turns.

    The view is changed in place, so that the report says what was sent. The result may still be
    over the budget: then the current turn alone is too large.
    """
    in_place, quoted = list(view.in_place), list(view.quoted)
    body = stand_in_place(request, view)
    built = build_view(request, view, body)
    while request.allowed is not None and built.tokens > request.allowed:
        if not _give_way(request, view, built.tokens - request.allowed):
            break
        if gone := _gone([*quoted, *in_place], view):
            view.certificate = _proof_without(request, view, gone)
            quoted = list(view.quoted)
        if view.in_place != in_place:
            in_place, body = list(view.in_place), stand_in_place(request, view)
        built = build_view(request, view, body)
    return built


def _gone(before: Sequence[Atom], view: View) -> list[Atom]:
    left = {a.first for a in (*view.quoted, *view.in_place)}
    return [a for a in before if a.first not in left]


def _proof_without(request: Request, view: View, gone: Sequence[Atom]) -> Proof:
    """What is still proven where atoms made room; nothing if others than the chosen did."""
    proof, gains, size = view.certificate, view.gains, request.turn_start
    if not isinstance(proof, Certificate) or proof.basis is not CertificateBasis.CHOSEN:
        return NoCertificate(Unproven.GAVE_WAY)
    if gains is None or any(a.first >= size for a in gone):
        return NoCertificate(Unproven.GAVE_WAY)
    holder = request.transcript.atom_of_message.view()
    places = {int(holder[a.first]) for a in gone}
    if not places <= set(gains.places.tolist()):
        return NoCertificate(Unproven.GAVE_WAY)
    return proof.without(gains.of(places))


def _give_way(request: Request, view: View, excess: int) -> bool:
    """Leave out quoted atoms of least relevance, else the oldest turns; False if none is left.

    Where the atoms in place were chosen by relevance, the least relevant of them goes first. What a
    flag keeps goes last, the oldest first; the report then says so.
    """
    kept = request.kept_by_flag
    loose = [k for k, a in enumerate(view.quoted) if kept.isdisjoint(a.indices)]
    if loose:
        scored = view.scored
        loose.sort(key=lambda k: scored.of(view.quoted[k]) if scored else 0.0)
        gone = set(_first_to_free(request, [view.quoted[k] for k in loose], excess))
        view.quoted = [a for a in view.quoted if a not in gone]
        if view.cut is not None and request.first_asked < len(request.entries):
            view.cut = replace(view.cut, declared=True)  # the step before may have had more
        return True
    if view.carried or view.summary is not None:
        view.summary = view.summary if view.carried else None
        for i in [i for a in view.carried for i in a.indices]:
            view.reasons.pop(i, None)
        view.carried = []
        view.cut = replace(view.cut, declared=True) if view.cut else None
        return True
    body = [a for a in view.in_place if not a.system and kept.isdisjoint(a.indices)]
    if body and view.ranked and view.scored is not None:
        worth = {a.first: view.scored.of(a) for a in body}
        body.sort(key=lambda a: (worth[a.first], a.first))
        gone = set(_first_to_free(request, body, excess))
        view.in_place = [a for a in view.in_place if a not in gone]
        return True
    if body:
        last_turn = _first_to_free(request, body, excess)[-1].turn
        view.in_place = [
            a
            for a in view.in_place
            if a.system or a.turn > last_turn or not kept.isdisjoint(a.indices)
        ]
        turns = request.transcript.turns.view()
        start = int(turns[last_turn + 1]) if last_turn + 1 < len(turns) else request.turn_start
        view.cut = cut_at(request, start)
        return True
    for atoms in (view.quoted, view.in_place):
        pinned = [a for a in atoms if not a.system]
        if pinned:
            gone = set(_first_to_free(request, pinned, excess))
            atoms[:] = [a for a in atoms if a not in gone]
            return True
    return False


def _first_to_free(request: Request, atoms: list[Atom], excess: int) -> list[Atom]:
    """The first few atoms that free so many tokens together, at least one."""
    freed, gone = 0, []
    for atom in atoms:
        gone.append(atom)
        freed += request.tokens_of(atom)
        if freed >= excess:
            break
    return gone


def cut_at(request: Request, start: int) -> Cut:
    """A cut that may lie elsewhere at each request."""
    line = request.timeline
    older = int(line.tokens[start] - line.system_tokens[start])
    return Cut(index=start, tokens_dropped=older, declared=True)
