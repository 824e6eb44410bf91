"""A chat request as text: its messages are exchanged, every other byte stays as it came."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eunoe.domain.placement import Placement

_SPACE = re.compile(r"[ \t\n\r]*")
_DECODER = json.JSONDecoder()
_ASK_USAGE = '"stream_options":{"include_usage":true}'


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatBody:
    """The body of a request, parsed, and where in its text everything stands.

    Attributes:
        text: the whole body.
        values: its fields.
        messages: parsed; ``pieces`` has the text of each.
        start, stop: place of the list of messages in the text.
        end: place of the closing brace.
    """

    text: str
    values: Mapping[str, Any]
    messages: list[Any]
    pieces: tuple[str, ...]
    start: int
    stop: int
    end: int

    @property
    def model(self) -> str:
        """The model that is asked; empty where none is named."""
        model = self.values.get("model")
        return model if isinstance(model, str) else ""

    def written(self, placements: Sequence[Placement] | None, *, ask_usage: bool = False) -> bytes:
        """The body to send.

        Args:
            placements: the messages to send; those that did not change keep their bytes. None, or
                all of them in order and unchanged, leaves the list as it is.
            ask_usage: ask for the usage at the end of a stream, unless the caller says.
        """
        middle = self.text[self.start : self.stop]
        if placements is not None and not self._is_same(placements):
            middle = "[" + ",".join(map(self._piece, placements)) + "]"
        rest = self.text[self.stop :]
        if ask_usage and self.values.get("stream") is True and "stream_options" not in self.values:
            before, after = self.text[self.stop : self.end], self.text[self.end :]
            rest = f"{before.rstrip()},{_ASK_USAGE}{after}"
        return (self.text[: self.start] + middle + rest).encode("utf-8")

    def _is_same(self, placements: Sequence[Placement]) -> bool:
        return len(placements) == len(self.pieces) and all(
            placed.index == i and not placed.changed for i, placed in enumerate(placements)
        )

    def _piece(self, placed: Placement) -> str:
        if placed.index is not None and not placed.changed:
            return self.pieces[placed.index]
        text = json.dumps(placed.message, ensure_ascii=False, separators=(",", ":"))
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:  # half a character, which JSON can only escape
            return json.dumps(placed.message, separators=(",", ":"))
        return text


def read_chat_body(data: bytes) -> ChatBody | None:
    """Read a body; None for what is no JSON object with one list of messages in UTF-8."""
    try:
        text = data.decode("utf-8")
        return _read_text(text)
    except (ValueError, RecursionError):
        return None


def _read_text(text: str) -> ChatBody | None:
    """The body.

    Raises:
        ValueError: it is no JSON object.
    """
    values: dict[str, Any] = {}
    pieces: list[str] = []
    start = stop = 0
    at = _after(text, _skip(text, 0), "{")
    while text[at : at + 1] != "}":
        if text[at : at + 1] != '"':
            raise ValueError("no key")
        key, at = _DECODER.raw_decode(text, at)
        at = _after(text, _skip(text, at), ":")
        if key != "messages":
            values[key], at = _DECODER.raw_decode(text, at)
        elif key in values:
            return None  # twice: servers differ in which one counts
        else:
            start = at
            values[key], pieces, at = _read_list(text, at)
            stop = at
        at = _next_place(text, at, "}")
    if _skip(text, at + 1) != len(text):
        raise ValueError("more after the object")
    messages = values.get("messages")
    if not messages or not all(isinstance(message, dict) for message in messages):
        return None
    return ChatBody(
        text=text,
        values=values,
        messages=messages,
        pieces=tuple(pieces),
        start=start,
        stop=stop,
        end=at,
    )


def _read_list(text: str, at: int) -> tuple[list[Any], list[str], int]:
    """The elements of a list, the text of each, and the place behind the list.

    Raises:
        ValueError: it is none.
    """
    values: list[Any] = []
    pieces: list[str] = []
    at = _after(text, at, "[")
    while text[at : at + 1] != "]":
        value, stop = _DECODER.raw_decode(text, at)
        values.append(value)
        pieces.append(text[at:stop])
        at = _next_place(text, stop, "]")
    return values, pieces, at + 1


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _after(text: str, at: int, mark: str) -> int:
    """The place after a mark and the blanks behind it.

    Raises:
        ValueError: something else stands there.
    """
    if text[at : at + 1] != mark:
        raise ValueError(f"no {mark}")
    return _skip(text, at + 1)


def _next_place(text: str, at: int, end: str) -> int:
    """The place of the next member or element, or of the mark that ends them.

    Raises:
        ValueError: neither a comma with more behind it nor the mark stands there.
    """
    at = _skip(text, at)
    if text[at : at + 1] == end:
        return at
    at = _after(text, at, ",")
    if text[at : at + 1] == end:
        raise ValueError("a comma too many")
    return at
