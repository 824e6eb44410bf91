"""Write OpenAI-style messages anew where one must change; the caller's objects stay as they are."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from eunoe.domain.nesting import with_strings_changed, written_text
from eunoe.wire.given_forms import content_given, row_given
from eunoe.wire.part_kinds import TEXT_TYPES, call_key, result_keys, said_key
from eunoe.wire.result_blocks import result_block, with_results_said

_HALF = re.compile("[\ud800-\udfff]")


def user_message(text: str) -> dict[str, Any]:
    """A user message of ours."""
    return {"role": "user", "content": text}


def missing_result(
    call_id: str | None, text: str, like: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """A result for a call that never got one.

    Args:
        like: a message for the form, with results or with the call: blocks answer blocks.
    """
    block = None if like is None else result_block(call_id, text, like)
    return block or {"role": "tool", "tool_call_id": call_id, "content": text}


def with_content(raw: Mapping[str, Any], text: str) -> dict[str, Any]:
    """The message with this text in place of all its text; pictures and other parts stay."""
    content = content_given(raw)
    if not isinstance(content, list):
        return {**raw, "content": text}
    if (said := with_results_said(content, text, alone=False)) is not None:
        return {**raw, "content": said}
    parts: list[Any] = []
    written = False
    for part in content:
        key = said_key(part) if isinstance(part, Mapping) else None
        if key is not None and not written:
            parts.append(
                {**part, "text": text} if key == "text" else {"type": "text", "text": text}
            )
            written = True
        elif key is None and isinstance(part, Mapping):
            parts.append(part)
    return {**raw, "content": parts if written else [{"type": "text", "text": text}, *parts]}


def with_text_alone(raw: Mapping[str, Any], text: str) -> dict[str, Any]:
    """The message with this text in place of everything in it, pictures too."""
    content = content_given(raw)
    if not isinstance(content, list):
        return {**raw, "content": text}
    if (said := with_results_said(content, text, alone=True)) is not None:
        return {**raw, "content": said}
    first = next((p for p in content if isinstance(p, Mapping) and p.get("type") in TEXT_TYPES), {})
    return {**raw, "content": [{"type": "text", **first, "text": text}]}


ELISION = "… "


def with_prefix_elided(raw: Mapping[str, Any], prefix_length: int) -> dict[str, Any]:
    """The message with ``…`` in place of the first characters of its first text.

    Whatever is taken out of a text leaves a mark, flags too: a reader sees that it is not whole,
    and a message that was nothing else is not empty, which providers refuse.
    """
    content = content_given(raw)
    if isinstance(content, str):
        return {**raw, "content": ELISION + content[prefix_length:]}
    parts = list(content) if isinstance(content, list) else []
    for i, part in enumerate(parts):
        if isinstance(part, str) and part:
            parts[i] = ELISION + part[prefix_length:]
            break
        key = said_key(part) if isinstance(part, Mapping) else None
        if key is not None and isinstance(part[key], str) and part[key]:
            parts[i] = {**part, key: ELISION + part[key][prefix_length:]}
            break
    return {**raw, "content": parts}


def with_text_in_front(
    raw: Mapping[str, Any], text: str, shown: Sequence[Mapping[str, Any]] = ()
) -> dict[str, Any]:
    """The message with a text before its own, which stays whole at the end.

    Args:
        shown: parts that stand behind that text, such as pictures.
    """
    content = content_given(raw)
    if shown or isinstance(content, list):
        own = content if isinstance(content, list) else []
        kinds = {str(p.get("type")) for p in (*shown, *own) if isinstance(p, Mapping)}
        kind = "input_text" if {"input_text", "input_image"} & kinds else "text"
        if content and isinstance(content, str):
            own = [{"type": kind, "text": content}]
        return {**raw, "content": [{"type": kind, "text": text}, *shown, *own]}
    return {**raw, "content": f"{text}\n\n{content}" if content else text}


def merged_users(raws: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Some user messages as one: the parts of each in order, the last whole; the last one's keys.

    Args:
        raws: at least one, the earliest first.
    """
    contents = [content_given(raw) for raw in raws]
    texts = [c for c in contents if isinstance(c, str)]
    if len(texts) == len(contents):
        return {**raws[-1], "content": "\n\n".join(texts)}
    return {**raws[-1], "content": [p for c in contents for p in _as_parts(c)]}


def _as_parts(content: object) -> list[Any]:
    if isinstance(content, list):
        return list(content)
    return [{"type": "text", "text": content}] if isinstance(content, str) and content else []


def with_short_call_ids(
    raw: Mapping[str, Any], fits: Callable[[str], bool], length: int
) -> dict[str, Any]:
    """The message with its call ids, and the id that it answers, cut to letters and digits.

    The new id is a hash of the old one, so both sides of a pair get the same in any process, and
    an id that has the right form already stays.

    Args:
        fits: whether an id has the right form.
        length: of the new ids, at most 64.
    """

    def renamed(part: Any, key: str) -> Any:
        if not isinstance(part, Mapping) or part.get(key) is None:
            return part
        return {**part, key: short_call_id(part[key], fits, length)}

    changed = dict(raw)

    def id_key(part: Any) -> str | None:
        if raw.get("role") != "assistant":
            return None if (keys := result_keys(part)) is None else keys[0]
        return call_key(part)

    calls = row_given(raw.get("tool_calls")) or []
    parts = row_given(raw.get("content")) or []
    short_calls = [renamed(c, "id") for c in calls]
    short_parts = [renamed(p, key) if (key := id_key(p)) else p for p in parts]
    if short_calls != calls:
        changed["tool_calls"] = short_calls
    if short_parts != parts:
        changed["content"] = short_parts
    return dict(renamed(changed, "tool_call_id"))


def short_call_id(call_id: object, fits: Callable[[str], bool], length: int) -> str:
    """An id of so many letters or digits for a call id; the id itself if it has the right form."""
    text = written_text(call_id)
    if fits(text):
        return text
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:length]


def without_half_characters(value: Any) -> Any:
    """The value with every half of a surrogate pair replaced by U+FFFD, keys included."""
    return with_strings_changed(value, lambda text: _HALF.sub("\ufffd", text))
