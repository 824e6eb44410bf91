"""Read OpenAI-style message dicts into the house's values.

Source: OpenAI API reference, Create chat completion; the content blocks of Responses-style and
Anthropic-style lists are read where they stand in such a dict. Unknown parts are counted as text.
"""

from __future__ import annotations

import marshal
import re
from collections.abc import Mapping
from typing import Any

from eunoe.domain.message import (
    PLAIN_SHAPE,
    MediaKind,
    Message,
    MessageShape,
    ToolCall,
    text_digest,
)
from eunoe.domain.nesting import json_text, written_text
from eunoe.wire.given_forms import content_given, fields_given, row_given
from eunoe.wire.part_kinds import (
    TEXT_TYPES,
    block_type,
    call_key,
    media_kind,
    result_keys,
    said_key,
)
from eunoe.wire.result_blocks import answered_in_blocks

_SERVER_USES = ("server_tool_use", "mcp_tool_use", "server_tool_call")
_HOST_KEYS = frozenset({"id", "timestamp", "created_at", "updated_at"})
_BASE64_RUN = re.compile(r"[A-Za-z0-9+/=_-]{800,}")
_HALF_CHARACTER = re.compile("[\ud800-\udfff]")
_HALF_AS_BYTES = b"\xed"
"""First byte of half a surrogate pair, where it is written as bytes all the same."""
_MARSHAL_PLAIN = 2
"""The version of the format that writes each text in full."""


def read_message(raw: Mapping[str, Any]) -> Message:
    """One message dict as a value. Never raises on content; O(size of the message).

    Args:
        raw: any mapping; a missing role is read as an empty one and named in ``shape.problem``.
    """
    role, content = raw.get("role"), content_given(raw)
    if isinstance(role, str) and isinstance(content, str) and len(raw) == 2:
        return _read_plain(role, content)
    parts = _content_parts(content)
    calls = _read_calls(raw, parts)
    text = "\n".join(t for p in parts if (t := _part_text(p)))
    in_blocks = answered_in_blocks(role, parts)
    if in_blocks and role == "user":
        role = "tool"
    answers = _id_text(raw.get("tool_call_id"))
    if answers is None and in_blocks:
        answers = in_blocks[0]
    if answers is None and role == "function":
        answers = _id_text(raw.get("name"))
    name = raw.get("name")
    return Message(
        role=role if isinstance(role, str) else "",
        text=text,
        name=name if isinstance(name, str) and name else None,
        calls=calls,
        answers=answers,
        pieces=() if isinstance(content, str) else _part_pieces(parts),
        reasoning=reasoning if isinstance(reasoning := raw.get("reasoning_content"), str) else "",
        media=_media_of(parts),
        parts=() if isinstance(content, str) else tuple(block_type(p) for p in parts),
        shape=_read_shape(
            raw, parts, calls, text, in_blocks[1:] if answers in in_blocks[:1] else in_blocks
        ),
        content_digest=_content_digest(raw),
    )


def _read_plain(role: str, content: str) -> Message:
    substance = 2 if content and not content.isspace() else 1
    half = not content.isascii() and _HALF_CHARACTER.search(content) is not None
    problem = "" if role else "role is missing"
    shape = (
        MessageShape(problem=problem, substance=substance, half_character=half)
        if half or substance < 2 or problem
        else PLAIN_SHAPE
    )
    return Message(role=role, text=content, shape=shape)


def _content_digest(raw: Mapping[str, Any]) -> str:
    known = {str(k): v for k, v in raw.items() if k not in _HOST_KEYS}
    return text_digest(json_text(known, sort_keys=True, separators=(",", ":")))


def _content_parts(content: object) -> list[Mapping[str, Any]]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if content is None:
        return []
    if (parts := row_given(content)) is None:
        return [{"type": "text", "text": _argument_text(content) or str(content)}]
    return [
        p if isinstance(p, Mapping) else {"type": "text", "text": written_text(p)} for p in parts
    ]


def _part_text(part: Mapping[str, Any]) -> str:
    if (result := result_keys(part)) is not None:
        inner = _content_parts(part.get(result[1]))
        return "\n".join(t for p in inner if (t := _part_text(p)))
    text = part.get(said_key(part) or "")
    return text if isinstance(text, str) else ""


def _media_of(parts: list[Mapping[str, Any]]) -> tuple[MediaKind, ...]:
    """The kinds of what is no text, inside results too."""
    kinds: list[MediaKind] = []
    for part in parts:
        if (result := result_keys(part)) is not None:
            kinds += _media_of(_content_parts(part.get(result[1])))
        elif (kind := media_kind(part)) is not None:
            kinds.append(kind)
    return tuple(kinds)


def media_parts(raw: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The pictures, sounds and files of a message, as they came; those inside results too."""
    found: list[Mapping[str, Any]] = []
    for part in row_given(raw.get("content")) or ():
        if not isinstance(part, Mapping):
            continue
        if (result := result_keys(part)) is not None:
            found += media_parts({"content": part.get(result[1])})
        elif media_kind(part) is not None:
            found.append(part)
    return found


def _part_pieces(parts: list[Mapping[str, Any]]) -> tuple[str, ...]:
    """What a model reads of each part; calls and media are counted elsewhere."""
    pieces: list[str] = []
    for part in parts:
        if call_key(part) is not None or media_kind(part) is not None:
            continue
        if (result := result_keys(part)) is not None:
            pieces += _part_pieces(_content_parts(part.get(result[1])))
            continue
        texts = [part.get(k) for k in ("text", "thinking", "reasoning", "refusal")]
        if any(isinstance(t, str) for t in texts):
            pieces += [t for t in texts if isinstance(t, str) and t]
        else:
            dumped = json_text(part, ensure_ascii=False)
            pieces.append(_BASE64_RUN.sub("", dumped))
    return tuple(pieces)


def _argument_text(value: object) -> str:
    if isinstance(value, str):
        return value
    return "" if not value else json_text(value, ensure_ascii=False)


def _read_calls(raw: Mapping[str, Any], parts: list[Mapping[str, Any]]) -> tuple[ToolCall, ...]:
    """The calls of a message, each once: from ``tool_calls``, else from blocks or the old field."""
    if raw.get("role") != "assistant":
        return ()
    calls: list[ToolCall] = []
    for call in row_given(raw.get("tool_calls")) or ():
        if not isinstance(call, Mapping):
            continue
        body = fields_given(call.get("function") or call.get("custom")) or {}
        calls.append(
            ToolCall(
                _id_text(call.get("id")),
                written_text(body.get("name") or ""),
                _argument_text(body.get("arguments") or body.get("input")),
            )
        )
    seen = {c.id for c in calls}
    for part in parts:
        if (key := call_key(part)) is None:
            continue
        call_id = _id_text(part.get(key))
        if call_id is None or call_id not in seen:
            arguments = _argument_text(part.get("arguments") or part.get("input"))
            calls.append(ToolCall(call_id, written_text(part.get("name") or ""), arguments))
            seen.add(call_id)
    old = fields_given(raw.get("function_call"))
    if not calls and old is not None:
        name = written_text(old.get("name") or "")
        calls.append(ToolCall(name, name, _argument_text(old.get("arguments"))))
    return tuple(calls)


def _id_text(value: object) -> str | None:
    return None if value is None else written_text(value)


def _read_shape(
    raw: Mapping[str, Any],
    parts: list[Mapping[str, Any]],
    calls: tuple[ToolCall, ...],
    text: str,
    more_answers: tuple[str, ...],
) -> MessageShape:
    role, content = raw.get("role"), content_given(raw)
    kinds = [block_type(p) for p in parts]
    used = {_id_text(p.get("id")) for p, k in zip(parts, kinds, strict=True) if k in _SERVER_USES}
    answered = {
        _id_text(p.get("tool_use_id") or p.get("tool_call_id"))
        for p, k in zip(parts, kinds, strict=True)
        if k.endswith("_tool_result") or k == "server_tool_result"
    }
    assistant_blocks = role == "assistant" and isinstance(content, list)
    thinks = assistant_blocks and any("thinking" in k for k in kinds)
    shape = MessageShape(
        problem=_shape_problem(raw),
        substance=_substance(raw, parts, calls, text),
        half_character=_has_half_character(raw),
        legacy_call=role == "assistant"
        and bool(raw.get("function_call"))
        and not raw.get("tool_calls"),
        prefix=role == "assistant" and raw.get("prefix") is True,
        reasoning_field="reasoning_content" in raw,
        thinks=thinks,
        thinking_late=thinks and "thinking" not in kinds[0],
        reasoning_last=assistant_blocks and bool(kinds) and kinds[-1] == "reasoning",
        server_result_alone=assistant_blocks and bool(answered - used),
        server_use_open=assistant_blocks and bool(used - answered),
        item_ids=tuple(written_text(p["id"]) for p in parts if p.get("id"))
        if assistant_blocks
        else (),
        asks_approval=tuple(
            written_text(p.get("id"))
            for p, k in zip(parts, kinds, strict=True)
            if k == "mcp_approval_request"
        ),
        approves=tuple(
            written_text(p.get("approval_request_id"))
            for p, k in zip(parts, kinds, strict=True)
            if k == "mcp_approval_response"
        ),
        more_answers=more_answers,
    )
    return PLAIN_SHAPE if shape == PLAIN_SHAPE else shape


def _shape_problem(raw: Mapping[str, Any]) -> str:
    if not isinstance(raw.get("role"), str) or not raw.get("role"):
        return "role is missing"
    if not isinstance(raw.get("content"), (str, list, tuple, type(None))):
        return f"content is {type(raw.get('content')).__name__}"
    return ""


def _substance(
    raw: Mapping[str, Any], parts: list[Mapping[str, Any]], calls: tuple[ToolCall, ...], text: str
) -> int:
    if calls or any(raw.get(k) for k in ("function_call", "refusal", "audio")):
        return 2
    if not parts:
        return 0
    only_text = all(block_type(p) in TEXT_TYPES for p in parts)
    return 1 if only_text and not text.strip() else 2


def _has_half_character(raw: Mapping[str, Any]) -> bool:
    try:
        if _HALF_AS_BYTES not in marshal.dumps(dict(raw), _MARSHAL_PLAIN):
            return False
    except (ValueError, TypeError):
        pass
    try:
        json_text(raw, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return False
