"""The first text of a message, where flags stand: its whole content, or one part among pictures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def first_text(message: Mapping[str, Any]) -> str:
    """The content, or the first part of it that holds text; empty if there is none."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    texts = map(_text_in_part, content) if isinstance(content, list) else iter(())
    return next((text for text in texts if text), "")


def with_first_text(message: Mapping[str, Any], text: str) -> dict[str, Any]:
    """The message with this in place of its first text; one without a text stays as it is."""
    content = message.get("content")
    if isinstance(content, str):
        return {**message, "content": text}
    parts = list(content) if isinstance(content, list) else []
    for place, part in enumerate(parts):
        if _text_in_part(part):
            parts[place] = text if isinstance(part, str) else {**part, "text": text}
            return {**message, "content": parts}
    return dict(message)


def _text_in_part(part: object) -> str:
    text = part.get("text") if isinstance(part, Mapping) else part
    return text if isinstance(text, str) else ""
