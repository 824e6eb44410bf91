"""Messages as programs build them: tuples beside lists, objects of a client's library beside dicts.

Source: the clients of OpenAI and Anthropic, whose answers hold pydantic models. Programs put the
parts and calls of an answer into the next request as they came; the clients write them as JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eunoe.domain.nesting import model_fields


def content_given(raw: Mapping[str, Any]) -> Any:
    """The content of a message; a list of parts, objects among them as dicts, if it is a row."""
    content = raw.get("content")
    parts = row_given(content)
    return content if parts is None else parts


def row_given(value: object) -> list[Any] | None:
    """A list as it is or a tuple as a list, objects in it as dicts; None if it is neither."""
    if not isinstance(value, (list, tuple)):
        return None
    if all(isinstance(item, (dict, str)) for item in value):
        return value if isinstance(value, list) else list(value)
    return [item if (fields := fields_given(item)) is None else fields for item in value]


def fields_given(value: object) -> Mapping[str, Any] | None:
    """A mapping as it is, or a model of a client's library as a dict; None if it is neither."""
    return value if isinstance(value, Mapping) else model_fields(value)
