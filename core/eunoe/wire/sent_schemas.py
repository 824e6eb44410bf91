"""What a request sends beside its messages that takes room in the window: schemas."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def sent_schemas(body: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The schemas of a request: its tools, functions in the old form, the form of the answer.

    Source: OpenAI chat completions, ``tools``, ``functions`` and ``response_format``.
    """
    listed = [body.get(key) for key in ("tools", "functions")]
    found = [x for value in listed if isinstance(value, list) for x in value]
    asked = body.get("response_format")
    if isinstance(asked, Mapping):
        found.append(asked.get("json_schema"))
    return [schema for schema in found if isinstance(schema, Mapping)]
