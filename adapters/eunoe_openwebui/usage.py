"""The usage that the host hands over with an answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def reported_usage(body: Mapping[str, Any]) -> object:
    """Usage of the newest answer, as the host hands it to `outlet`; None if there is none."""
    messages = body.get("messages")
    newest = messages[-1] if isinstance(messages, list) and messages else None
    return newest.get("usage") if isinstance(newest, Mapping) else None
