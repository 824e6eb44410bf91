"""Group messages into turns and atoms before anything is selected.

A turn runs from a user message with something in it to the one before the next. An atom is a call
with exactly its results, and what must travel with them. Calls and results are paired by position,
since local models repeat their call ids in every turn.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Sequence

from eunoe.domain.atom import Atom, atom_of
from eunoe.domain.message import RESULT_ROLES, Message

_IMAGES_OF_RESULTS = "Here are the images from the tool results above"


def opens_turn(message: Message, previous: Message | None) -> bool:
    """Whether a user message begins a new turn.

    Blank messages, approvals of a call, and the images that a host shows after tool results do not.
    """
    if message.role != "user" or message.shape.substance < 2 or message.shape.approves:
        return False
    return not (previous is not None and previous.is_result and shows_results(message))


def shows_results(message: Message) -> bool:
    """Whether a user message looks like the pictures that a host shows behind tool results."""
    return bool(message.media) and message.text.startswith(_IMAGES_OF_RESULTS)


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
        O(messages + calls).
    """
    for message in messages[start:stop]:
        if message.calls or message.role in RESULT_ROLES or message.shape.approves:
            break
    else:
        return [Atom(i, (i,), turn, messages[i].is_system) for i in range(start, stop)]
    pairing = _Pairing(messages)
    strays = pairing.pair_runs(start, stop)
    loose = pairing.pair_with_calls_before(strays)
    pairing.pair_with_calls_behind(_sure_strays(messages, pairing.answers, loose, used_before))
    answers, owner = pairing.answers, pairing.owner
    travelling = _travellers(messages, start, stop, owner)
    followers: dict[int, list[int]] = {}
    for i in sorted(travelling):
        followers.setdefault(travelling[i], []).append(i)
    answered = {key for got in answers.values() for key in got}
    atoms: list[Atom] = []
    for i in range(start, stop):
        message = messages[i]
        if i in owner or i in travelling:
            continue
        if message.is_result:
            same = not answered.isdisjoint(message.answered)
            problem = "a second result for one call" if same else "a result without its call"
            atoms.append(atom_of((i,), turn, broken=problem))
        elif message.calls:
            atoms.append(_call_atom(messages, i, turn, answers[i], followers.get(i, ())))
        else:
            indices = (i, *followers.get(i, ()))
            atoms.append(Atom(i, indices, turn, message.is_system))
    return atoms


class _Pairing:
    """The calls of one turn and the results that they got.

    Attributes:
        answers: of each call the results that it has, by the id that they answer.
        owner: the call of each result that has one.
    """

    def __init__(self, messages: Sequence[Message]) -> None:
        self._messages = messages
        self.answers: dict[int, dict[str | None, int]] = {}
        self.owner: dict[int, int] = {}

    def pair_runs(self, start: int, stop: int) -> list[int]:
        """Pair the results that stand directly behind their call; return those of no call in sight.

        A second result directly behind its call is no stray: it belongs to that call and to no
        other.
        """
        strays: list[int] = []
        call: int | None = None
        ids: set[str | None] = set()
        for i in range(start, stop):
            message = self._messages[i]
            if not message.is_result:
                call = i if message.calls else None
                if call is not None:
                    self.answers[i] = {}
                    ids = {c.id for c in message.calls}
            elif call is not None and self._waits(call, message, ids.issuperset(message.answered)):
                self._give(call, i)
            elif call is None or message.answers not in ids:
                strays.append(i)
        return strays

    def pair_with_calls_before(self, strays: Sequence[int]) -> list[int]:
        """Give each stray the nearest call before it that waits for it; return those left over."""
        calls = list(self.answers)
        waiting: dict[str | None, list[int]] = {}
        met, loose = 0, []
        for i in strays:
            while met < len(calls) and calls[met] < i:
                for key in self._ids_of_call(calls[met]):
                    waiting.setdefault(key, []).append(calls[met])
                met += 1
            if not self._take(self._calls_for(i, waiting), i):
                loose.append(i)
        return loose

    def pair_with_calls_behind(self, strays: Sequence[int]) -> None:
        """Give each stray the call of its id, which is the only one, if it waits for it."""
        calls = {key: call for call in self.answers for key in self._ids_of_call(call)}
        for i in strays:
            call = calls.get(self._messages[i].answers)
            if call is not None and self._waits(call, self._messages[i], self._all_called(call, i)):
                self._give(call, i)

    def _calls_for(self, i: int, waiting: dict[str | None, list[int]]) -> list[int]:
        """The calls that a stray may answer; none for one of the old kind, which has no id."""
        message = self._messages[i]
        return waiting.get(message.answers, []) if message.role == "tool" else []

    def _take(self, calls: list[int], i: int) -> bool:
        """Give a result to the last of some calls; those that have theirs are taken off."""
        while calls:
            if self._waits(calls[-1], self._messages[i], self._all_called(calls[-1], i)):
                self._give(calls.pop(), i)
                return True
            calls.pop()
        return False

    def _all_called(self, call: int, i: int) -> bool:
        """Whether a result answers nothing but what a message calls."""
        more = self._messages[i].shape.more_answers
        return not more or set(self._ids_of_call(call)).issuperset(more)

    def _ids_of_call(self, call: int) -> list[str | None]:
        """The ids that a stray may answer, each once."""
        return list(dict.fromkeys(c.id for c in self._messages[call].calls))

    def _waits(self, call: int, result: Message, same_id: bool) -> bool:
        """Whether a call still waits for this result."""
        got = self.answers[call]
        if self._messages[call].shape.legacy_call:
            return result.role == "function" and not got
        keys = set(result.answered)
        once = len(keys) == len(result.answered)
        return result.role == "tool" and same_id and once and got.keys().isdisjoint(keys)

    def _give(self, call: int, i: int) -> None:
        message = self._messages[call]
        old = message.shape.legacy_call
        keys = (message.calls[0].id,) if old else self._messages[i].answered
        self.answers[call].update(dict.fromkeys(keys, i))
        self.owner[i] = call


def _sure_strays(
    messages: Sequence[Message],
    calls: Iterable[int],
    strays: Sequence[int],
    used_before: Container[str | None],
) -> list[int]:
    """Strays whose id is used by one call and one stray of this turn, and nowhere before."""
    called = Counter(c.id for call in calls for c in messages[call].calls)
    loose = Counter(messages[i].answers for i in strays)
    return [
        i
        for i in strays
        if (answer := messages[i].answers) not in used_before
        and called[answer] == 1
        and loose[answer] == 1
    ]


def _travellers(
    messages: Sequence[Message], start: int, stop: int, owner: dict[int, int]
) -> dict[int, int]:
    """User messages that belong to another: images of a call's results, an approval asked for."""
    travelling: dict[int, int] = {}
    asked = {a: i for i in range(start, stop) for a in messages[i].shape.asks_approval}
    for i in range(start + 1, stop):
        message = messages[i]
        if message.role != "user" or message.shape.substance < 2:
            continue
        for approval in message.shape.approves:
            place = asked.get(approval, stop)
            if place == i - 1 or (place < i and messages[place].calls):
                travelling[i] = place
        shown = not message.shape.approves and not opens_turn(message, messages[i - 1])
        if shown and i - 1 in owner:
            travelling[i] = owner[i - 1]
    return travelling


def _call_atom(
    messages: Sequence[Message],
    i: int,
    turn: int,
    got: dict[str | None, int],
    followers: Sequence[int],
) -> Atom:
    ids = [c.id for c in messages[i].calls]
    problem = "one id for two calls" if len(set(ids)) < len(ids) else ""
    missing = tuple(c for c in ids if c not in got)
    if missing and messages[i].shape.legacy_call:
        problem = problem or "a function call without result"
    return atom_of(
        (i, *sorted(set(got.values())), *followers),
        turn,
        unanswered=missing,
        broken=problem,
    )
