"""Tools in every form that LangChain binds to a model, as they are sent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.utils.function_calling import convert_to_openai_tool

from eunoe import SettingsError


def schemas_of(tools: Sequence[Any]) -> list[dict[str, Any]]:
    """Tools as they are sent; what cannot be converted counts as it prints."""
    schemas: list[dict[str, Any]] = []
    for tool in tools:
        try:
            schemas.append(convert_to_openai_tool(tool))
        except (TypeError, ValueError, NotImplementedError):
            schemas.append(tool if isinstance(tool, dict) else {"description": str(tool)})
    return schemas


def read_tools(value: Any) -> list[dict[str, Any]]:
    """The tools that a model is bound to, as ``bind_tools`` takes them; None for none.

    Raises:
        SettingsError: it is no list of tools.
    """
    if value is not None and not isinstance(value, (list, tuple)):
        allowed = "a list of tools, functions or schemas"
        raise SettingsError("tools", type(value).__name__, allowed)
    return schemas_of(value or ())
