"""What stands in place: where the history begins, what flags keep, and the room there is."""

from __future__ import annotations

from collections.abc import Sequence

from eunoe.domain.atom import Atom, first_place, place_in_list
from eunoe.domain.certificate import ALL_SENT
from eunoe.domain.report import Cut
from eunoe.pipeline.arranging.view import View
from eunoe.pipeline.request import Request
from eunoe.stages.counting.message_cost import REPLY_PRIMING


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
    room = free_room(request, ()) - request.timeline.used(request.turn_start, len(request.entries))
    forced: list[Atom] = []
    for atom in reversed(request.atoms_between(0, request.turn_start)):
        if atom.system or kept.isdisjoint(atom.indices) or is_dropped(request, atom):
            continue
        if (tokens := request.tokens_of(atom)) <= room:
            forced.append(atom)
            room -= tokens
    return forced[::-1]


def atoms_from(request: Request, start: int) -> list[Atom]:
    """System atoms before ``start``, and every atom from there to the current turn."""
    end = request.turn_start
    after = request.atoms_between(start, end)
    if request.flags.by_message:
        after = [a for a in after if not is_dropped(request, a)]
    return request.systems_before(start) + after


def cut_before(request: Request, start: int, *, declared: bool) -> Cut | None:
    """The cut that leaves out what lies before ``start``; None if that is nothing."""
    if start <= 0:
        return None
    line = request.timeline
    dropped = int(line.tokens[start] - line.system_tokens[start])
    return Cut(index=start, tokens_dropped=dropped, declared=declared) if dropped else None


def free_room(request: Request, forced: Sequence[Atom]) -> int:
    """Tokens for messages beside those that flags keep; as good as endless without a budget."""
    allowed = request.allowed if request.allowed is not None else 1 << 60
    return allowed - REPLY_PRIMING - sum(request.tokens_of(a) for a in forced)


def with_forced(
    request: Request, start: int, forced: Sequence[Atom], view: View, *, declared: bool
) -> View:
    """The view from ``start``, forced atoms before it added: users in place, others quoted."""
    view.in_place = atoms_from(request, start)
    view.cut = cut_before(request, start, declared=declared)
    early = [a for a in forced if a.first < start]
    in_place_ok = not request.profile.alternate
    for atom in early:
        message = request.messages[atom.first]
        view.reasons[atom.first] = "kept by a flag"
        if in_place_ok and message.role == "user":
            view.in_place.append(atom)
        else:
            view.quoted.append(atom)
    view.in_place.sort(key=place_in_list)
    view.quoted.sort(key=first_place)
    return view


def whole_view(request: Request) -> View:
    """Everything in place, but what a flag leaves out."""
    start = context_start(request)
    return View(
        in_place=atoms_from(request, start),
        cut=cut_before(request, start, declared=False),
        certificate=ALL_SENT,
    )
