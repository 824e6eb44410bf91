"""Atoms as messages to send: stubs for missing results, mended characters, nothing empty."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from eunoe.domain.atom import Atom
from eunoe.domain.message import PLAIN_SHAPE, Message
from eunoe.domain.profile import ProviderProfile, TextForm
from eunoe.domain.report import Fate
from eunoe.stages.validity import a_message, message_problems
from eunoe.wire.rewriting import (
    missing_result,
    short_call_id,
    with_content,
    with_short_call_ids,
    with_text_alone,
    without_half_characters,
)

NO_RESULT = "[no result was recorded for this call]"
NO_OUTPUT = "[no output]"


@dataclass(slots=True)
class Slot:
    """One message on its way out.

    ``parts`` are the input messages that it carries; ``whole_characters`` is False if half a
    character was replaced, so that its text is no longer the caller's; ``most_tokens`` is an upper
    bound of its tokens where that is known without counting; ``stands_by`` is the call that a stub
    of ours answers; ``fates`` are those of parts that were not kept, in a message that was merged.
    """

    index: int | None
    raw: Mapping[str, Any]
    message: Message
    changed: bool = False
    fate: Fate = Fate.KEPT
    parts: tuple[int, ...] = ()
    whole_characters: bool = True
    most_tokens: int | None = None
    stands_by: int | None = None
    fates: Mapping[int, Fate] = field(default_factory=dict)


@dataclass(slots=True)
class SlotMaker:
    """Turns atoms into slots under the rules of a profile, and notes what it mended.

    Attributes:
        raws: the input, flags already stripped.
        messages: the same as values.
        stripped: places whose flags were stripped.
        read: reads a message that was written anew.
        thinking_mode: some message of the chat carries its reasoning.
        shortened: replacements for the text of some messages (stubs, clips), with their fate.
        left_out: messages that are left out of their atom: pictures of results that are stubs.
        repeated_ids: call ids used more than once; a stub under such an id could be taken for the
            result of another call.
        loose_ids: ids of results that found no call; one of them may be the true result of a call
            that was given an earlier one.
        late: results that came in a later turn than their call: by place of the call, by id.
        short_ids: whether call ids are rewritten where the provider wants short ones.
        mended: a sentence for each repair, filled while atoms are turned.
        reasons: why some messages do not stand in the list, filled likewise.
        first_result: place of the first result of the chat, found when it is asked for.
    """

    raws: Sequence[Mapping[str, Any]]
    messages: Sequence[Message]
    profile: ProviderProfile
    read: Callable[[Mapping[str, Any]], Message]
    thinking_mode: bool
    stripped: frozenset[int] = frozenset()
    shortened: Mapping[int, tuple[str, Fate]] = field(default_factory=dict)
    left_out: Collection[int] = ()
    repeated_ids: frozenset[str | None] = frozenset()
    loose_ids: frozenset[str | None] = frozenset()
    late: Mapping[int, Mapping[str | None, int]] = field(default_factory=dict)
    short_ids: bool = False
    mended: list[str] = field(default_factory=list)
    reasons: dict[int, str] = field(default_factory=dict)
    first_result: int | None = None

    def plain_slot(self, atom: Atom) -> Slot | None:
        """The slot of a message that no rule objects to; None if it takes a closer look."""
        i, indices = atom.first, atom.indices
        message = self.messages[i]
        if message.shape is not PLAIN_SHAPE or message.calls or message.answers is not None:
            return None
        if len(indices) > 1 or atom.broken or i in self.shortened:
            return None
        return Slot(i, self.raws[i], message, i in self.stripped, Fate.KEPT, indices)

    def problem_of(self, atom: Atom) -> str:
        """Why the atom cannot stand in a list of this profile; empty if it can."""
        last = len(self.messages) - 1
        if atom.broken:
            running = atom.indices == (last,) and self.messages[last].shape.legacy_call
            return "" if running else atom.broken
        missing = set(atom.unanswered).difference(self.late.get(atom.indices[0], ()))
        if self.repeated_ids.intersection(missing) and atom.indices != (last,):
            return "a call without result, whose id is used for another call too"
        early = (
            {self.messages[i].answers for i in atom.indices if i < atom.indices[0]}
            if atom.first < atom.indices[0]
            else set()
        )
        if early and self.loose_ids.intersection(early):
            return "a result before its call, and another result of the same id"
        for i in atom.indices:
            message = self.messages[i]
            if message.shape is PLAIN_SHAPE and not (message.calls and self.thinking_mode):
                continue
            for code, sentence in message_problems(
                message,
                self.profile,
                is_last=i == last,
                thinking_mode=self.thinking_mode,
            ):
                if code not in ("empty-content", "surrogate"):
                    return sentence
        return ""

    def late_results_of(self, atoms: Sequence[Atom]) -> set[int]:
        """Places of the results of a later turn whose call is among the atoms and can stand."""
        calls = [a for a in atoms if a.indices[0] in self.late] if self.late else []
        return {
            i for a in calls if not self.problem_of(a) for i in self.late[a.indices[0]].values()
        }

    def slots_of(self, atom: Atom) -> list[Slot]:
        """The messages of an atom that can stand in the list; none if all are empty."""
        slots: list[Slot] = []
        for i in atom.indices:
            slot = self._slot(i) if i not in self.left_out else None
            if slot is not None:
                slots.append(slot)
        if len(atom.indices) > 1:
            self._note_moves(atom)
        return slots if not atom.unanswered else self._answered(atom, slots)

    def _note_moves(self, atom: Atom) -> None:
        """Say which results stood elsewhere than behind their call."""
        expected = atom.indices[0] + 1
        for i in atom.indices[1:]:
            if not self.messages[i].is_result:
                return
            if i == expected:
                expected += 1
            else:
                self.mended.append(f"[{i}] a result was moved behind its call [{atom.indices[0]}]")

    def _answered(self, atom: Atom, slots: list[Slot]) -> list[Slot]:
        """The call with what came late, and a stub for each result that is missing.

        A wholly open call at the very end runs.
        """
        last = len(self.messages) - 1
        if len(atom.indices) == 1 and atom.indices[0] == last:
            return slots
        behind = sum(1 for s in slots if s.message.is_result or s.message.calls)
        call, stubs, missing = atom.indices[0], [], []
        like = next((s.raw for s in slots if s.message.is_result), None) or self._form_for(call)
        late = self.late.get(call, {})
        for call_id in atom.unanswered:
            if call_id in late and (slot := self._slot(late[call_id])) is not None:
                stubs.append(slot)
                self.mended.append(f"[{slot.index}] a result was moved behind its call [{call}]")
                continue
            missing.append(str(call_id))
            if (form := self._id_form) is not None:
                call_id = short_call_id(call_id, form.fits, self.profile.servers.call_id_length)
            raw = missing_result(call_id, NO_RESULT, like)
            stubs.append(Slot(None, raw, self.read(raw), True, Fate.STUB, stands_by=call))
        if missing:
            calls = ", ".join(missing)
            self.mended.append(f"[{call}] no result was recorded for {calls}; a stub says so")
        if stubs and "tool_call_id" not in stubs[0].raw:
            behind = 1  # behind results in blocks may stand what a user says
        return [*slots[:behind], *stubs, *slots[behind:]]

    def _form_for(self, call: int) -> Mapping[str, Any]:
        """A message in whose form a call is answered that has no result at all.

        The first result of the chat shows how this host writes results; before there is one, the
        call itself: what comes later must not change what was sent.
        """
        if self.first_result is None:
            found = (i for i, m in enumerate(self.messages) if m.is_result)
            self.first_result = next(found, len(self.messages))
        if self.first_result < call:
            return self.raws[self.first_result]
        return {} if self.raws[call].get("tool_calls") else self.raws[call]

    @property
    def _id_form(self) -> TextForm | None:
        """The form that call ids are brought into; None if they stay as they are."""
        return self.profile.servers.call_id if self.short_ids else None

    def _slot(self, i: int) -> Slot | None:
        raw, message = self.raws[i], self.messages[i]
        changed, fate = i in self.stripped, Fate.KEPT
        if (form := self._id_form) is not None and (message.calls or message.answers is not None):
            renamed = with_short_call_ids(raw, form.fits, self.profile.servers.call_id_length)
            if renamed != raw:
                self.mended.append(f"[{i}] call ids were rewritten: they must be {form.words}")
                raw, changed = renamed, True
        if message.shape is PLAIN_SHAPE and i not in self.shortened and not changed:
            return Slot(i, raw, message, changed, fate, (i,))
        if i in self.shortened:
            text, fate = self.shortened[i]
            raw, changed = shortened_raw(raw, text, fate), True
        if message.shape.problem.startswith("content is "):
            raw, changed = with_content(raw, message.text), True
            self.mended.append(f"[{i}] {message.shape.problem}; it was sent as text")
        if message.shape.half_character:
            raw, changed = without_half_characters(raw), True
            self.mended.append(f"[{i}] half a character was replaced")
        blank = message.shape.substance == 1 and self.profile.blank_refused
        blank = (blank and message.role != "tool") or message.shape.substance == 0
        if blank and message.is_result:
            raw, changed = with_content(raw, NO_OUTPUT), True
            self.mended.append(f"[{i}] an empty result was given a text")
        elif blank and (message.shape.substance == 0 or not message.is_system):
            self.mended.append(f"[{i}] {a_message(message)} with nothing in it was left out")
            self.reasons[i] = "there is nothing in it"
            return None
        value = self.read(raw) if changed else message
        return Slot(i, raw, value, changed, fate, (i,), not message.shape.half_character)


def shortened_raw(raw: Mapping[str, Any], text: str, fate: Fate) -> dict[str, Any]:
    """A message with a shorter text: a stub stands for all of it, a clip for its text alone."""
    return with_text_alone(raw, text) if fate is Fate.STUB else with_content(raw, text)
