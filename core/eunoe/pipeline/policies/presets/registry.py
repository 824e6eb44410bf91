"""The presets by name."""

from __future__ import annotations

from collections.abc import Callable

from eunoe.pipeline.policies.presets.chat import PresetChat, PresetPlan
from eunoe.pipeline.policies.presets.dycp import plan_dycp
from eunoe.pipeline.policies.presets.lethe import plan_lethe
from eunoe.pipeline.policies.presets.lethes import plan_lethes
from eunoe.pipeline.policies.presets.lethus import plan_lethus
from eunoe.pipeline.policies.presets.unified import plan_unified

Preset = Callable[[PresetChat], PresetPlan | None]
BLOCK_PRESETS = frozenset({"lethe"})
"""Presets whose choice stands in one quoted block, whatever the roles allow."""
WORD_PRESETS = frozenset({"lethes"})
"""Presets that look at words alone, whatever embeddings there are."""

PRESETS: dict[str, Preset] = {
    "lethe": plan_lethe,
    "lethes": plan_lethes,
    "dycp": plan_dycp,
    "lethus": plan_lethus,
    "unified": plan_unified,
}
