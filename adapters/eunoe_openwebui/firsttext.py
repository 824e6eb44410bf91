"""The texts of a message: its whole content, or the parts among pictures; flags open the first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_WHOLE = -1
"""Place of the text that is the whole content."""


def first_text(message: Mapping[str, Any]) -> str:
    """The content, or the first part of it that holds text; empty if there is none."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    return next((text for _, text in texts_of(message)), "")


def with_first_text(message: Mapping[str, Any], text: str) -> dict[str, Any]:
    """The message with this in place of its first text; one without a text stays as it is."""
    part = next((part for part, _ in texts_of(message)), None)
    return dict(message) if part is None else with_text(message, part, text)


def texts_of(message: Mapping[str, Any]) -> Iterator[tuple[int, str]]:
    """Place and text of each part that holds text, in order."""
    content = message.get("content")
    if isinstance(content, str):
        yield _WHOLE, content
    for place, part in enumerate(content if isinstance(content, list) else ()):
        text = part.get("text") if isinstance(part, Mapping) else part
        if text and isinstance(text, str):
            yield place, text


def with_text(message: Mapping[str, Any], part: int, text: str) -> dict[str, Any]:
    """The message with this in place of the text at a place that ``texts_of`` told."""
    if part == _WHOLE:
        return {**message, "content": text}
    parts = list(message["content"])
    old = parts[part]
    parts[part] = text if isinstance(old, str) else {**old, "text": text}
    return {**message, "content": parts}
