"""Group messages into turns and atoms before anything is selected.

A turn runs from a user message with something in it to the one before the next. An atom is a call
with exactly its results, and what must travel with them. Calls and results are paired by position,
since local models repeat their call ids in every turn.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

from eunoe.domain.atom import Atom, atom_of
from eunoe.domain.message import Message

_IMAGES_OF_RESULTS = "Here are the images from the tool results above"


def opens_turn(message: Message, previous: Message | None) -> bool:
    """Whether a user message begins a new turn.

    Blank messages, approvals of a call, and the images that a host shows after tool results do not.
    """
    if message.role != "user" or message.shape.substance < 2 or message.shape.approves:
        return False
    after_result = previous is not None and previous.is_result
    return not (after_result and message.media and message.text.startswith(_IMAGES_OF_RESULTS))


def build_atoms(
    messages: Sequence[Message],
    start: int,
    stop: int,
    turn: int,
    used_before: Container[str | None] = (),
) -> list[Atom]:
    """The atoms of ``messages[start:stop]``, one whole turn, in order of their first message.

    Results stand behind their call: those of the run directly behind it first; a stray result goes
    to the nearest unanswered call of its id, before it if possible. A second result for one call
    and a result without a call become broken atoms of their own.

    Args:
        turn: number of the turn, given to each atom.
        used_before: call ids met in earlier turns. A result that stands before its call is only
            given to it if the id is used nowhere else: otherwise it could be another call's.

    Note:
        O(messages + strays × calls) in one turn.
    """
    if not any(m.calls or m.is_result for m in messages[start:stop]):
        return [Atom(i, (i,), turn, messages[i].is_system) for i in range(start, stop)]
    answers: dict[int, dict[str | None, int]] = {}
    owner: dict[int, int] = {}
    strays = _pair_runs(messages, start, stop, answers, owner)
    for i in strays:
        _pair_stray(messages, i, answers, owner, behind=True)
    for i in _sure_strays(messages, answers, [i for i in strays if i not in owner], used_before):
        _pair_stray(messages, i, answers, owner, behind=False)
    travelling = _travellers(messages, start, stop, owner)
    atoms: list[Atom] = []
    for i in range(start, stop):
        message = messages[i]
        if i in owner or i in travelling:
            continue
        if message.is_result:
            same = any(message.answers in own for own in answers.values())
            problem = "a second result for one call" if same else "a result without its call"
            atoms.append(atom_of((i,), turn, broken=problem))
        elif message.calls:
            atoms.append(_call_atom(messages, i, turn, answers[i], travelling))
        else:
            atoms.append(Atom(i, (i,), turn, message.is_system))
    return atoms


def _pair_runs(
    messages: Sequence[Message],
    start: int,
    stop: int,
    answers: dict[int, dict[str | None, int]],
    owner: dict[int, int],
) -> list[int]:
    """Pair the results that stand directly behind their call; return those of no call in sight.

    A second result directly behind its call is no stray: it belongs to that call and to no other.
    """
    strays: list[int] = []
    call: int | None = None
    for i in range(start, stop):
        message = messages[i]
        if not message.is_result:
            call = i if message.calls else None
            if call is not None:
                answers[i] = {}
        elif call is not None and _takes(messages, call, message, answers[call]):
            answers[call][_answer_key(messages[call], message)] = i
            owner[i] = call
        elif call is None or all(c.id != message.answers for c in messages[call].calls):
            strays.append(i)
    return strays


def _answer_key(call: Message, result: Message) -> str | None:
    return call.calls[0].id if call.shape.legacy_call else result.answers


def _takes(
    messages: Sequence[Message], call: int, result: Message, got: dict[str | None, int]
) -> bool:
    """Whether a call still waits for this result."""
    caller = messages[call]
    if caller.shape.legacy_call:
        return result.role == "function" and not got
    if result.role != "tool" or result.answers in got:
        return False
    return any(c.id == result.answers for c in caller.calls)


def _sure_strays(
    messages: Sequence[Message],
    calls: Iterable[int],
    strays: Sequence[int],
    used_before: Container[str | None],
) -> list[int]:
    """Strays whose id is used by one call and one stray of this turn, and nowhere before."""
    called = [c.id for call in calls for c in messages[call].calls]
    loose = [messages[i].answers for i in strays]
    return [
        i
        for i in strays
        if (answer := messages[i].answers) not in used_before
        and called.count(answer) == 1
        and loose.count(answer) == 1
    ]


def _pair_stray(
    messages: Sequence[Message],
    i: int,
    answers: dict[int, dict[str | None, int]],
    owner: dict[int, int],
    *,
    behind: bool,
) -> None:
    near = [
        call
        for call, got in answers.items()
        if (call < i) == behind and _takes(messages, call, messages[i], got)
    ]
    if near:
        call = min(near, key=lambda j: abs(j - i))
        answers[call][_answer_key(messages[call], messages[i])] = i
        owner[i] = call


def _travellers(
    messages: Sequence[Message], start: int, stop: int, owner: dict[int, int]
) -> dict[int, int]:
    """User messages that belong to a call: images of its results, an approval it asked for."""
    travelling: dict[int, int] = {}
    asked = {a: i for i in range(start, stop) for a in messages[i].shape.asks_approval}
    for i in range(start + 1, stop):
        message = messages[i]
        if message.role != "user" or message.shape.substance < 2:
            continue
        for approval in message.shape.approves:
            if approval in asked and asked[approval] < i and messages[asked[approval]].calls:
                travelling[i] = asked[approval]
        if not opens_turn(message, messages[i - 1]) and i - 1 in owner:
            travelling[i] = owner[i - 1]
    return travelling


def _call_atom(
    messages: Sequence[Message],
    i: int,
    turn: int,
    got: dict[str | None, int],
    travelling: dict[int, int],
) -> Atom:
    ids = [c.id for c in messages[i].calls]
    problem = "one id for two calls" if len(set(ids)) < len(ids) else ""
    missing = tuple(c for c in ids if c not in got)
    if missing and messages[i].shape.legacy_call:
        problem = problem or "a function call without result"
    followers = sorted(j for j, call in travelling.items() if call == i)
    return atom_of(
        (i, *sorted(got.values()), *followers),
        turn,
        unanswered=missing,
        broken=problem,
    )
