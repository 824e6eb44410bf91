"""Ids of calls and results over the turns of a chat: used twice, or without their other half."""

from __future__ import annotations

from collections.abc import Sequence

from eunoe.domain.atom import Atom
from eunoe.domain.message import Message


def note_call_ids(
    messages: Sequence[Message], called: set[str | None], repeated: set[str | None]
) -> None:
    """Add the ids of the calls to ``called``, and those met before to ``repeated``."""
    for message in messages:
        for call in message.calls:
            (repeated if call.id in called else called).add(call.id)


def note_unpaired(
    atoms: Sequence[Atom],
    messages: Sequence[Message],
    loose: dict[str | None, list[int]],
    open_calls: dict[str | None, list[int]],
) -> None:
    """Add results without a call to ``loose``, calls without a result to ``open_calls``."""
    for atom in atoms:
        if atom.broken and messages[atom.first].is_result:
            for key in messages[atom.first].answered:
                loose.setdefault(key, []).append(atom.first)
        elif atom.unanswered and not atom.broken:
            for key in atom.unanswered:
                open_calls.setdefault(key, []).append(atom.indices[0])
