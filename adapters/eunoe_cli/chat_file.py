"""Read chats from files: message lists, transcripts line by line, Open WebUI exports."""

from __future__ import annotations

import codecs
import gzip
import json
import re
import sys
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eunoe import ChatFileError
from eunoe_cli.openwebui_export import is_exported_chat, read_exported_chat

EXPECTED = (
    'expected a list of messages, {"messages": [...]}, such objects line by line, '
    "or a chat export of Open WebUI"
)
_GZIP_MARK = b"\x1f\x8b"
_LINE_END = re.compile("\r\n|\n|\r")
"""Of a line of JSON. ``str.splitlines`` ends one at marks, too, that may stand within a text."""
RawMessages = list[dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chat:
    """One chat of a file.

    Attributes:
        name: file name, with the title or number of the chat where a file holds several.
        messages: OpenAI-style dicts, oldest first.
        tools: schemas that the file sends along, if any.
        whole: the JSON value it was read from; for writing it back in the same form.
    """

    name: str
    messages: RawMessages
    tools: list[dict[str, Any]] | None = None
    whole: Any = None


def read_chats(path: str) -> list[Chat]:
    """Every chat of a file, also of one packed by gzip; ``-`` reads the standard input.

    Raises:
        ChatFileError: the file is not there, is no JSON, or holds no chat; says where.
    """
    text = _read_text(path)
    if not text.strip():
        raise ChatFileError(path, "", f"the file is empty; {EXPECTED}")
    values, places = _read_json(path, text)
    if len(values) > 1 and all(_is_message(v) for v in values):
        return [_make_chat(path, "", values, None, _short_name(path), values)]
    chats = [
        chat
        for value, place in zip(values, places, strict=True)
        for chat in _chats_in(path, place, value)
    ]
    return _with_names(path, chats)


def _read_text(path: str) -> str:
    try:
        data = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise ChatFileError(path, "", f"{reason}; expected a file that can be read") from error
    if data.startswith(_GZIP_MARK):
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, zlib.error) as error:
            raise ChatFileError(path, "", f"broken gzip ({error}); expected a JSON text") from error
    utf16 = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        return data.decode("utf-16" if utf16 else "utf-8-sig")
    except UnicodeDecodeError as error:
        kind = "no whole UTF-16" if utf16 else "not UTF-8"
        raise ChatFileError(path, f"byte {error.start}", f"{kind}; expected a JSON text") from error


def _read_json(path: str, text: str) -> tuple[list[Any], list[str]]:
    """The JSON values of a file and where each stands: one value, or one a line."""
    try:
        return [json.loads(text)], [""]
    except RecursionError as error:
        raise ChatFileError(path, "", f"nested too deeply; {EXPECTED}") from error
    except json.JSONDecodeError as error:
        lines = [(n, line) for n, line in enumerate(_LINE_END.split(text), 1) if line.strip()]
        if len(lines) < 2 or not _is_json(lines[0][1]):
            place = f"line {error.lineno} column {error.colno}"
            raise ChatFileError(path, place, f"no JSON: {error.msg}; {EXPECTED}") from error
    values = []
    for number, line in lines:
        try:
            values.append(json.loads(line))
        except (json.JSONDecodeError, RecursionError) as error:
            what = getattr(error, "msg", "nested too deeply")
            raise ChatFileError(
                path, f"line {number}", f"no JSON: {what}; expected one object a line"
            ) from error
    return values, [f"line {number}" for number, _ in lines]


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (json.JSONDecodeError, RecursionError):
        return False
    return True


def _is_message(value: Any) -> bool:
    return isinstance(value, Mapping) and "role" in value and "messages" not in value


def _chats_in(path: str, place: str, value: Any) -> list[Chat]:
    """The chats of one JSON value; names are still the title, or empty."""
    if isinstance(value, list) and value and not any(_is_message(v) for v in value):
        found = []
        for i, item in enumerate(value):
            here = _join(place, f"[{i}]")
            if isinstance(item, list) or not isinstance(item, Mapping):
                kind = type(item).__name__
                raise ChatFileError(path, here, f"found {kind}; expected a message or a chat")
            found += _chats_in(path, here, item)
        return found
    if isinstance(value, list):
        return [_make_chat(path, place, value, None, "", value)]
    if isinstance(value, Mapping) and is_exported_chat(value):
        title, messages = read_exported_chat(path, place, value)
        return [_make_chat(path, place, messages, None, title, messages)]
    if isinstance(value, Mapping) and isinstance(value.get("messages"), list):
        title = value.get("title") or value.get("id") or ""
        name = title if isinstance(title, str) else ""
        return [_make_chat(path, place, value["messages"], value.get("tools"), name, value)]
    kind = "an object without messages" if isinstance(value, Mapping) else type(value).__name__
    raise ChatFileError(path, place, f"found {kind}; {EXPECTED}")


def _make_chat(
    path: str, place: str, messages: list[Any], tools: Any, name: str, whole: Any
) -> Chat:
    inside = isinstance(whole, Mapping)
    for i, message in enumerate(messages):
        if not isinstance(message, Mapping) or not isinstance(message.get("role"), str):
            kind = "an object" if isinstance(message, Mapping) else type(message).__name__
            here = _join(place, f"messages[{i}]" if inside or not place else f"[{i}]")
            raise ChatFileError(
                path, here, f'found {kind} without a role; expected {{"role": ..., "content": ...}}'
            )
    if not messages:
        raise ChatFileError(path, _join(place, "messages"), "the list is empty; expected messages")
    if tools is not None and not isinstance(tools, list):
        raise ChatFileError(path, _join(place, "tools"), "expected a list of tool schemas")
    return Chat(name=name, messages=messages, tools=tools or None, whole=whole)


def _with_names(path: str, chats: list[Chat]) -> list[Chat]:
    base = _short_name(path)
    if len(chats) == 1:
        title = f" ({chats[0].name})" if chats[0].name else ""
        return [_renamed(chats[0], base + title)]
    return [
        _renamed(chat, f"{base} #{n}" + (f" ({chat.name})" if chat.name else ""))
        for n, chat in enumerate(chats, 1)
    ]


def _renamed(chat: Chat, name: str) -> Chat:
    return Chat(name=name, messages=chat.messages, tools=chat.tools, whole=chat.whole)


def _short_name(path: str) -> str:
    return "standard input" if path == "-" else Path(path).name


def _join(place: str, inner: str) -> str:
    return f"{place} {inner}" if place else inner
