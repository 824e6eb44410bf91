"""Put slots into an order that the profile accepts, changing as little as possible."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from eunoe.domain.message import Message
from eunoe.domain.profile import ProviderProfile
from eunoe.domain.report import Fate
from eunoe.pipeline.slots import Slot
from eunoe.stages.quoting import Quotation, quote_block
from eunoe.stages.validity import is_visible_turn
from eunoe.wire.rewriting import merged_users, user_message, with_text_in_front

OPENING_MARK = "(the assistant opens the conversation)"
PAUSE_MARK = "(no message)"
_NOTHING_YET = "(no message yet)"

ReadMessage = Callable[[Mapping[str, Any]], Message]


def arrange_slots(
    slots: Sequence[Slot], profile: ProviderProfile, read: ReadMessage, mended: list[str]
) -> list[Slot]:
    """The slots in an order that the profile's role rules accept.

    System messages go to the head where the profile wants them there; a first answer gets a marker
    before it; roles that must alternate are merged (users), parted by a marker (answers), or quoted
    in front of the next question (a question whose tool flow never came to an answer).
    """
    arranged = list(slots)
    if profile.system_at_head:
        arranged = _systems_first(arranged, mended)
    if profile.alternate:
        arranged = _alternating(arranged, read, mended)
    elif profile.user_first:
        body = next((k for k, s in enumerate(arranged) if not s.message.is_system), len(arranged))
        if arranged and (body == len(arranged) or arranged[body].message.role != "user"):
            mark = OPENING_MARK if body < len(arranged) else _NOTHING_YET
            arranged.insert(body, _marker(mark, read))
            mended.append("a marker was put before the first answer, since a user must speak first")
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
    visible: list[int] = []
    for slot in slots:
        if slot.message.is_system:
            out.append(slot)
            continue
        if not any(not s.message.is_system for s in out) and slot.message.role != "user":
            visible.append(len(out))
            out.append(_marker(OPENING_MARK, read))
            mended.append("a marker was put before the first answer, since a user must speak first")
        if not is_visible_turn(slot.message):
            out.append(slot)
            continue
        if visible and out[visible[-1]].message.role == slot.message.role:
            if slot.message.role == "assistant":
                visible.append(len(out))
                out.append(_marker(PAUSE_MARK, read))
                mended.append("a marker was put between two answers, since roles must alternate")
            else:
                slot = _joined(out, visible.pop(), slot, read, mended)
        visible.append(len(out))
        out.append(slot)
    if out and not visible and all(s.message.is_system for s in out):
        out.append(_marker(_NOTHING_YET, read))
        mended.append("a marker was put behind the system messages, since a user must speak")
    return out


def _joined(out: list[Slot], place: int, slot: Slot, read: ReadMessage, mended: list[str]) -> Slot:
    """The user message with the unanswered one before it; ``out`` loses what is joined."""
    earlier = out[place:]
    del out[place:]
    if (
        len(earlier) == 1
        and min(slot.message.shape.substance, earlier[0].message.shape.substance) < 2
    ):
        mended.append("a blank user message was left out, since roles must alternate")
        return slot if slot.message.shape.substance == 2 else earlier[0]
    if not slot.whole_characters:
        mended.append("a user message was left out: the next one was mended and cannot be merged")
        return slot
    parts = tuple(i for s in earlier for i in s.parts) + slot.parts
    if len(earlier) == 1:
        raw: Mapping[str, Any] = merged_users(earlier[0].raw, slot.raw)
        mended.append("two user messages in a row were merged, since roles must alternate")
    else:
        quotations = [
            Quotation(0, s.message.role, text) for s in earlier if (text := spoken_text(s.message))
        ]
        raw = with_text_in_front(slot.raw, quote_block(quotations)) if quotations else slot.raw
        mended.append(
            "tool steps that never came to an answer were quoted before the next question"
        )
    return Slot(slot.index, raw, read(raw), True, slot.fate, parts)


def spoken_text(message: Message) -> str:
    """What a message says, calls and pictures in words, for a quotation."""
    if not (message.calls or message.media):
        return message.text
    said = [message.text] if message.text else []
    said += [f"[calls {c.name}({c.arguments})]" for c in message.calls]
    said += [f"[{kind.split('_')[0]}]" for kind in message.media]
    return "\n".join(said)


def put_block(
    slots: list[Slot],
    question: int | None,
    block: str,
    profile: ProviderProfile,
    read: ReadMessage,
    *,
    most_tokens: int,
    question_tokens: int,
) -> list[Slot]:
    """The slots with a quoted block directly before the current question.

    Args:
        most_tokens: an upper bound of the block's tokens as a message; ``question_tokens`` are the
            question's.
        question: place of the question in the input; None puts the block at the end of the head.
    """
    place = next((k for k, s in enumerate(slots) if s.index == question), None)
    if place is None:
        place = next((k for k, s in enumerate(slots) if not s.message.is_system), len(slots))
        question = None
    if question is not None and profile.alternate:
        slot = slots[place]
        if not slot.whole_characters:
            return slots
        raw = with_text_in_front(slot.raw, block)
        bound = most_tokens + question_tokens
        slots[place] = Slot(
            slot.index, raw, read(raw), True, slot.fate, slot.parts, most_tokens=bound
        )
        return slots
    raw = user_message(block)
    slots.insert(place, Slot(None, raw, read(raw), True, Fate.RECALLED, most_tokens=most_tokens))
    return slots
