"""What a content part is: text that the message says, a call, a result, reasoning, or media.

Source: OpenAI API reference, chat completions and Responses; Anthropic docs, Messages API; Google's
content parts, which have no type, are read by their ``text``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eunoe.domain.message import MediaKind
from eunoe.domain.nesting import written_text

TEXT_TYPES = ("text", "input_text", "output_text")
_CALL_TYPES = ("tool_use", "tool_call", "function_call", "custom_tool_call")
_THINKING_TYPES = ("thinking", "redacted_thinking", "reasoning")
RESULT_BLOCKS = {
    "tool_result": ("tool_use_id", "content"),
    "function_call_output": ("call_id", "output"),
    "custom_tool_call_output": ("call_id", "output"),
}
"""Types of blocks of results, with the keys of the call that they answer and of what they say."""


def block_type(part: Mapping[str, Any]) -> str:
    """The type of a part as text; empty if it has none."""
    return written_text(part.get("type", ""))


def result_keys(part: object) -> tuple[str, str] | None:
    """The keys of the id and of the content of a block; None if it is no result."""
    kind = part.get("type") if isinstance(part, Mapping) else None
    return RESULT_BLOCKS.get(kind) if isinstance(kind, str) else None


def call_key(part: object) -> str | None:
    """The key of a call's id in its block; None if it is no call."""
    if not isinstance(part, Mapping) or (kind := block_type(part)) not in _CALL_TYPES:
        return None
    return "call_id" if kind.endswith("_call") and "call_id" in part else "id"


def answering_block(part: object) -> str | None:
    """The type of block that answers a call in a block; None if it is none, or has none.

    Of the Responses API, results are items of their own: in lists of messages they are messages of
    tools, unless the list itself shows another form.
    """
    return "tool_result" if isinstance(part, Mapping) and block_type(part) == "tool_use" else None


def media_kind(part: Mapping[str, Any]) -> MediaKind | None:
    """What a part shows that is no text; None if it is none of these."""
    kind = block_type(part)
    if "image" in kind:
        image = part.get("image_url")
        details = (part.get("detail"), image.get("detail") if isinstance(image, Mapping) else None)
        return "image_low" if "low" in details else "image"
    if "audio" in kind:
        return "audio"
    if "video" in kind or "media" in kind:
        return "video"
    return "file" if "file" in kind or "document" in kind else None


def said_key(part: Mapping[str, Any]) -> str | None:
    """The key under which a part holds what the message says; None if it says nothing.

    What reads a message's text and what writes it anew go by it, so that nothing stands twice.
    """
    if result_keys(part) is not None or call_key(part) is not None or media_kind(part) is not None:
        return None
    kind = block_type(part)
    if kind in _THINKING_TYPES:
        return None
    if isinstance(part.get("text"), str) or (kind in TEXT_TYPES and "text" in part):
        return "text"
    return "refusal" if isinstance(part.get("refusal"), str) else None
