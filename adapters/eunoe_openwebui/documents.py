"""Documents that the host has put in front of the newest question, and what is done about them.

With documents or search results the newest user message reads ``### Task ... <context> ...``, and
what the user wrote, flags included, stands at its end. The next turn shows that question without
them. So flags come first again, and messages are chosen for the question alone, in the room that
the documents leave: else each turn would look like one huge question that nothing old is near to,
and whose size cuts the chat anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from eunoe.domain.flag import FlagReading
from eunoe.domain.placement import Placement
from eunoe.domain.ports import TokenCounter
from eunoe.stages.flags import flags_in_force, read_flags
from eunoe.wire.rewriting import ELISION
from eunoe_openwebui.firsttext import first_text, texts_of, with_first_text, with_text

_ROOM_STEPS = 8
"""Documents take their room in eighths of what is allowed: retrieved text has another length at
each turn, and every other room would cut the chat elsewhere."""
_JOIN_TOKENS = 2
"""What they may take more behind another text, such as a recalled block, than behind nothing."""


def with_flags_in_front(
    messages: Sequence[Mapping[str, Any]], written: str
) -> list[Mapping[str, Any]]:
    """The messages, with the flags of the newest user message at its beginning.

    Args:
        messages: as the host gives them.
        written: what the user wrote, by the host's account.
    """
    result = list(messages)
    flags, rest = _flags_and_rest(written)
    place = _place_that_ends_with(messages, written) if flags else -1
    if place >= 0 and (text := first_text(result[place])) != written:
        whole = flags + text.removesuffix(written) + rest
        result[place] = with_first_text(result[place], whole)
    return result


@dataclass(frozen=True, slots=True, kw_only=True)
class Documents:
    """What stands in front of the newest question.

    Attributes:
        place: of the message in the list.
        whole: the message as it is.
        flags, text, rest: what its text is made of.
        tokens: what ``text`` takes in front of the question.
    """

    place: int
    whole: Mapping[str, Any]
    flags: str
    text: str
    rest: str
    tokens: int

    def room(self, allowed: int) -> int:
        """Tokens that are kept free for them; all that is allowed if too little would be left."""
        step = max(1, allowed // _ROOM_STEPS)
        return min(allowed, -(-(self.tokens + _JOIN_TOKENS) // step) * step)

    def taken_out(self, messages: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """The list with the bare question."""
        bare = list(messages)
        bare[self.place] = with_first_text(self.whole, self.flags + self.rest)
        return bare

    def put_back(self, placements: Sequence[Placement]) -> tuple[Placement, ...] | None:
        """What is sent, documents included; None where the question is not there in its words."""
        result, found = [], False
        for placed in placements:
            if placed.index == self.place:
                message = self._filled(placed.message) if placed.changed else self.whole
                if message is None:
                    return None
                placed, found = replace(placed, message=message), True
            result.append(placed)
        return tuple(result) if found else None

    def _filled(self, message: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """A message that was changed, as by its flags, or joined with others: filled again."""
        for part, text in texts_of(message):
            for mark in (self.flags, ELISION if self.flags else ""):
                if text.endswith(mark + self.rest):
                    front = text.removesuffix(mark + self.rest)
                    return with_text(message, part, front + mark + self.text + self.rest)
        return None


def find_documents(
    messages: Sequence[Mapping[str, Any]], written: str, counter: TokenCounter
) -> Documents | None:
    """What stands in front of the newest question; None for nothing, or for no question at all.

    Args:
        messages: with flags at the beginning of the text where they count.
        written: what the user wrote, by the host's account.
        counter: of the model.
    """
    for flags, rest in (_flags_and_rest(written), ("", written)):
        place = _place_that_ends_with(messages, rest) if rest.strip() else -1
        text = first_text(messages[place]) if place >= 0 else ""
        if text.startswith(flags) and (front := text[len(flags) : -len(rest)]).strip():
            mark = ELISION if flags else ""
            tokens = counter.count(mark + front + rest) - counter.count(mark + rest)
            return Documents(
                place=place,
                whole=messages[place],
                flags=flags,
                text=front,
                rest=rest,
                tokens=max(0, tokens),
            )
    return None


def names_target(messages: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a flag that is in force says how many tokens to send."""
    texts = [first_text(m) for m in messages if m.get("role") == "user"]
    flagged = (text for text in texts[:-1] if text.startswith("!"))
    readings = (read_flags(text) or FlagReading() for text in (*flagged, *texts[-1:]))
    return flags_in_force(readings).target is not None


def _flags_and_rest(written: str) -> tuple[str, str]:
    """The flags that a text begins with, and what follows; no flags where they do not count."""
    reading = read_flags(written)
    if reading is None or reading.problems:
        return "", written
    if not reading.rest:
        return written.rstrip() + " ", ""
    return written.removesuffix(reading.rest), reading.rest


def _place_that_ends_with(messages: Sequence[Mapping[str, Any]], end: str) -> int:
    """Place of the newest user message that ends so; -1 without one."""
    for place in range(len(messages) - 1, -1, -1):
        message = messages[place]
        if message.get("role") == "user" and first_text(message).endswith(end):
            return place
    return -1
