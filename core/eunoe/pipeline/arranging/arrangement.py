"""Put slots into an order that the profile accepts, changing as little as possible."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

from eunoe.domain.message import Message
from eunoe.domain.profile import ProviderProfile
from eunoe.domain.report import Fate
from eunoe.pipeline.arranging.slots import Slot
from eunoe.stages.atoms import shows_results
from eunoe.stages.quoting import Quotation, quote_block, spoken_text
from eunoe.stages.validity import is_visible_turn
from eunoe.wire.openai import media_parts
from eunoe.wire.rewriting import merged_users, user_message, with_text_in_front

OPENING_MARK = "(the assistant opens the conversation)"
PAUSE_MARK = "(no message)"
_BLANK_LEFT_OUT = "a blank user message was left out, since roles must alternate"
_NOTHING_YET = "(no message yet)"

ReadMessage = Callable[[Mapping[str, Any]], Message]


def arrange_slots(
    slots: Sequence[Slot], profile: ProviderProfile, read: ReadMessage, mended: list[str]
) -> list[Slot]:
    """The slots in an order that the profile's role rules accept.

    System messages go to the head where the profile wants them there; a first answer gets a marker
    before it; roles that must alternate are merged (users, and what a host shows of results),
    parted by a marker (answers), or quoted in front of the next question (a question whose tool
    flow never came to an answer). No list is empty, which every provider refuses: where nothing is
    left a marker stands.
    """
    arranged = list(slots)
    if profile.system_at_head:
        arranged = _systems_first(arranged, mended)
    if profile.alternate:
        arranged = _alternating(arranged, read, mended)
    elif profile.user_first or not arranged:
        body = next((k for k, s in enumerate(arranged) if not s.message.is_system), len(arranged))
        if body == len(arranged) or arranged[body].message.role != "user":
            mark = OPENING_MARK if body < len(arranged) else _NOTHING_YET
            arranged.insert(body, _marker(mark, read))
            mended.append(
                "a marker was put before the first answer, since a user must speak first"
                if body < len(arranged) - 1
                else "a marker was put at the end, since nobody else speaks"
            )
    return arranged


def _systems_first(slots: list[Slot], mended: list[str]) -> list[Slot]:
    head = [s for s in slots if s.message.is_system]
    body = [s for s in slots if not s.message.is_system]
    ordered = head + body
    if any(a is not b for a, b in zip(ordered, slots, strict=True)):
        mended.append("late system messages were moved to the head")
    return ordered


def _marker(text: str, read: ReadMessage) -> Slot:
    raw = user_message(text)
    return Slot(None, raw, read(raw), True, Fate.KEPT)


def _alternating(slots: list[Slot], read: ReadMessage, mended: list[str]) -> list[Slot]:
    out: list[Slot] = []
    spoken: list[_UserPart] = []
    before, begun = "", False
    for slot in slots:
        if slot.message.is_system:
            out.append(slot)
            continue
        if not begun and slot.message.role != "user":
            before = "user"
            out.append(_marker(OPENING_MARK, read))
            spoken.append(_UserPart(len(out) - 1, out[-1]))
            mended.append("a marker was put before the first answer, since a user must speak first")
        begun = True
        if not is_visible_turn(slot.message):
            out.append(slot)
            continue
        role, again = slot.message.role, slot.message.role == before
        if again and role == "user":
            mended.append(_join_user(out, spoken[-1], slot))
            continue
        if again:
            out.append(_marker(PAUSE_MARK, read))
            mended.append("a marker was put between two answers, since roles must alternate")
        elif role == "user":
            spoken.append(_UserPart(len(out), slot))
        before = role
        out.append(slot)
    for part in spoken:
        out[part.place] = part.as_slot(read)
    if not begun:
        out.append(_marker(_NOTHING_YET, read))
        mended.append("a marker was put behind the system messages, since a user must speak")
    return out


def _join_user(out: list[Slot], part: _UserPart, slot: Slot) -> str:
    """Join a user message with the one before it, at the end of ``out``; say what was done."""
    if slot.message.shape.substance < 2:
        return _BLANK_LEFT_OUT
    shown = out[-1].message.is_result and shows_results(slot.message)
    steps = out[part.place + 1 :]
    del out[part.place + 1 :]
    if shown and slot.whole_characters:
        return part.show(slot, steps)
    return part.join(slot, steps)


class _UserPart:
    """What stands in one user message: its slots, and what is quoted before them.

    Written once, when all is known: merging two by two would copy the text at each step.
    """

    def __init__(self, place: int, slot: Slot) -> None:
        self.place = place
        self._slots = [slot]
        self._quotations: list[Quotation] = []
        self._shown: list[Mapping[str, Any]] = []
        self._parts: list[int] = []
        self._fates: dict[int, Fate] = {}
        self._steps: set[int] = set()

    def join(self, slot: Slot, steps: Sequence[Slot]) -> str:
        """Take the next user message, and the tool steps between; say what was done."""
        if not steps and self._slots[-1].message.shape.substance < 2:
            self._slots = [slot]
            return _BLANK_LEFT_OUT
        if not slot.whole_characters:
            self._slots, self._quotations, self._shown, self._parts = [slot], [], [], []
            self._steps.clear()
            return "a user message was left out: the next one was mended and cannot be merged"
        if not steps:
            self._slots.append(slot)
            return "two user messages in a row were merged, since roles must alternate"
        earlier = [*self._slots, *steps]
        self._fates.update(_fates_of_parts(earlier))
        self._parts += [i for s in earlier for i in s.parts]
        self._quotations += _step_quotations(earlier)
        self._shown += _shown_of(earlier)
        self._slots = [slot]
        self._steps.clear()
        return "tool steps that never came to an answer were quoted before the next question"

    def show(self, slot: Slot, steps: Sequence[Slot]) -> str:
        """Take the pictures that a host shows of the results of some steps; say what was done.

        The question before them stays as it is: it is what the model works at.
        """
        self._slots += [*steps, slot]
        self._steps.update(map(id, steps))
        return "tool steps were quoted between the question and the pictures of their results"

    def as_slot(self, read: ReadMessage) -> Slot:
        """All of it as one message, which ends with the whole text of the last one."""
        last = self._slots[-1]
        if len(self._slots) == 1 and not self._parts:
            return last
        raws: list[Mapping[str, Any]] = []
        for is_step, run in groupby(self._slots, lambda s: id(s) in self._steps):
            slots = list(run)
            raws += [_quoted_steps(slots)] if is_step else [s.raw for s in slots]
        raw = merged_users(raws)
        if self._quotations:
            raw = with_text_in_front(raw, quote_block(self._quotations), self._shown)
        parts = (*self._parts, *(i for s in self._slots for i in s.parts))
        fates = {**self._fates, **_fates_of_parts(self._slots)}
        return Slot(last.index, raw, read(raw), True, last.fate, parts, fates=fates)


def _fates_of_parts(slots: Iterable[Slot]) -> dict[int, Fate]:
    return {s.index: s.fate for s in slots if s.index is not None and s.fate is not Fate.KEPT}


def _quoted_steps(slots: Sequence[Slot]) -> Mapping[str, Any]:
    block = quote_block(_step_quotations(slots))
    return with_text_in_front(user_message(""), block, _shown_of(slots))


def _shown_of(slots: Iterable[Slot]) -> list[Mapping[str, Any]]:
    """What is no text in some messages: it stands behind their quotation."""
    return [part for s in slots if s.message.media for part in media_parts(s.raw)]


def _step_quotations(slots: Iterable[Slot]) -> list[Quotation]:
    return [Quotation(0, s.message.role, text) for s in slots if (text := spoken_text(s.message))]


def takes_block(slots: Sequence[Slot], question: int | None, profile: ProviderProfile) -> bool:
    """Whether a quoted block can stand before the question.

    It cannot where it would have to stand in the question itself, and that was mended: a text is
    written anew for one reason at a time.
    """
    asked = (s for s in slots if question is not None and s.index == question)
    return not profile.alternate or all(s.whole_characters for s in asked)


def put_block(
    slots: list[Slot],
    question: int | None,
    block: str,
    profile: ProviderProfile,
    read: ReadMessage,
    *,
    most_tokens: int,
    question_tokens: int,
    shown: Sequence[Mapping[str, Any]] = (),
) -> list[Slot]:
    """The slots with a quoted block directly before the current question.

    Args:
        most_tokens: an upper bound of the block's tokens as a message; ``question_tokens`` are the
            question's.
        shown: parts that stand behind the block, such as pictures of what is quoted.
        question: place of the question in the input; None puts the block at the end of the head.
    """
    behind = range(len(slots) - 1, -1, -1)  # the question stands near the end
    place = next((k for k in behind if slots[k].index == question), None)
    if question is None or place is None:
        place = next((k for k, s in enumerate(slots) if not s.message.is_system), len(slots))
        question = None
    if question is not None and profile.alternate:
        slot = slots[place]
        raw = with_text_in_front(slot.raw, block, shown)
        bound = most_tokens + question_tokens
        slots[place] = Slot(
            slot.index, raw, read(raw), True, slot.fate, slot.parts, most_tokens=bound
        )
        return slots
    raw = with_text_in_front(user_message(""), block, shown)
    slots.insert(place, Slot(None, raw, read(raw), True, Fate.RECALLED, most_tokens=most_tokens))
    return slots


def carry_block(
    slots: Sequence[Slot],
    start: int,
    block: str,
    read: ReadMessage,
    *,
    fate: Fate,
    most_tokens: int,
) -> list[Slot]:
    """The slots with a quoted block where the window begins: before the first from ``start`` on.

    Args:
        fate: of the messages that the block stands for.
        most_tokens: an upper bound of the block's tokens as a message.
    """
    place = next(
        (k for k, s in enumerate(slots) if s.index is not None and s.index >= start), len(slots)
    )
    raw = user_message(block)
    slot = Slot(None, raw, read(raw), True, fate, most_tokens=most_tokens)
    return [*slots[:place], slot, *slots[place:]]
