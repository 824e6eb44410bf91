"""The indivisible unit of everything after reading: a call with exactly its results."""

from __future__ import annotations

from operator import attrgetter
from typing import NamedTuple


class Atom(NamedTuple):
    """Messages that are kept or left out together; see ``atom_of``.

    Attributes:
        first: place of its first message in the input.
        indices: places of its messages in the input, in the order in which they are sent.
        turn: number of the turn it belongs to, from 0.
        system: a system or developer message.
        unanswered: ids of calls that have no result.
        broken: why it can never stand in a list (then it can only be quoted); empty if it can.
    """

    first: int
    indices: tuple[int, ...]
    turn: int
    system: bool = False
    unanswered: tuple[str | None, ...] = ()
    broken: str = ""


first_place = attrgetter("first")
"""The first of the atom's messages in the input, by which atoms are in order of time."""


def place_in_list(atom: Atom) -> int:
    """Where the atom stands in a list: at its call, since a result that came early moves behind."""
    return atom.indices[0]


def atom_of(
    indices: tuple[int, ...],
    turn: int,
    *,
    unanswered: tuple[str | None, ...] = (),
    broken: str = "",
) -> Atom:
    """The atom of some messages, none of them a system message."""
    return Atom(min(indices), indices, turn, False, unanswered, broken)
