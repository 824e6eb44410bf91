"""From the stored valves to those of one request: the preset filled in, the model's own on top."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from eunoe_openwebui.valves import FilterValves
from eunoe_openwebui.valvetables import named_valves, overrides_by_model


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterPreset:
    """What a preset stands for; shares in percent."""

    policy: str
    recall: str
    context_percent: int
    cut_at_percent: int
    cut_to_percent: int
    recall_percent: int
    deep_recall_percent: int


FILTER_PRESETS = {
    "balanced": FilterPreset(
        policy="stable",
        recall="auto",
        context_percent=85,
        cut_at_percent=100,
        cut_to_percent=30,
        recall_percent=15,
        deep_recall_percent=87,
    ),
    "saver": FilterPreset(
        policy="stable",
        recall="auto",
        context_percent=50,
        cut_at_percent=100,
        cut_to_percent=30,
        recall_percent=15,
        deep_recall_percent=40,
    ),
    "thorough": FilterPreset(
        policy="relevance",
        recall="always",
        context_percent=90,
        cut_at_percent=100,
        cut_to_percent=60,
        recall_percent=30,
        deep_recall_percent=87,
    ),
    "window": FilterPreset(
        policy="window",
        recall="never",
        context_percent=85,
        cut_at_percent=100,
        cut_to_percent=60,
        recall_percent=5,
        deep_recall_percent=5,
    ),
}


def resolve_valves(valves: FilterValves, model_id: str) -> FilterValves:
    """The valves for this model: overrides applied, the preset in place of 0 and "preset"."""
    override = named_valves(_valve_override_for(valves.model_overrides, model_id))
    chosen = FilterValves(**{**valves.model_dump(), **override})
    preset = FILTER_PRESETS[chosen.preset]
    filled = {
        name: getattr(preset, name)
        for name in FilterPreset.__dataclass_fields__
        if getattr(chosen, name) in (0, "preset")
    }
    return chosen.model_copy(update=filled)


def _valve_override_for(text: str, model_id: str) -> Mapping[Any, Any]:
    """The first entry whose pattern matches the model; empty without one."""
    for pattern, values in overrides_by_model(text).items():
        if fnmatchcase(model_id.lower(), pattern.lower()):
            return values
    return {}
