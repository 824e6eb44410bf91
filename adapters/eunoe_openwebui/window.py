"""Whose window and whose price: the model that a workspace model of the host stands on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def base_model_id(model: Mapping[str, Any]) -> str:
    """Id of the model that a workspace model stands on; empty for other models."""
    return str(
        (info if isinstance(info := model.get("info"), Mapping) else {}).get("base_model_id") or ""
    )


def priced_model_id(model_id: str, model: Mapping[str, Any], base: Mapping[str, Any]) -> str:
    """Name under which the model has a price: its base's, or none where it runs on Ollama."""
    if "ollama" in (model.get("owned_by"), base.get("owned_by")):
        return ""
    return base_model_id(model) or model_id
