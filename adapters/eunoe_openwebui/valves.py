"""What an administrator and a user can set in the host's pages, few things first."""

from __future__ import annotations

import json
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Literal

from pydantic import Field

from eunoe_openwebui.forgiving import ForgivingModel


class FilterValves(ForgivingModel):
    """Settings of the operator; 0 or "preset" leaves a choice to the preset."""

    preset: Literal["balanced", "saver", "thorough", "window"] = Field(
        default="balanced",
        title="Preset",
        description="**balanced** suits most chats. **saver** sends less. **thorough** searches "
        "the whole chat for every question. **window** only keeps the newest turns.",
    )
    max_tokens: int = Field(
        default=0,
        ge=0,
        le=100_000_000,
        title="Max tokens",
        description="Most tokens a request may take, tools and the room for the answer included. "
        "0: what the model's context window allows.",
    )
    show_status: bool = Field(
        default=True,
        title="Show status line",
        description="One line above each answer: how much was sent, recalled and left out.",
    )
    on_overflow: Literal["truncate", "keep", "refuse"] = Field(
        default="truncate",
        title="If it cannot fit",
        description="When the question alone is larger than the budget: **truncate** shortens it "
        "with a visible mark, **keep** sends it whole, **refuse** answers with an error.",
    )
    policy: Literal["preset", "stable", "relevance", "window", "off"] = Field(
        default="preset",
        title="Policy",
        description="**stable** keeps the provider's prompt cache and recalls what a question "
        "needs. **relevance** chooses from the whole chat each time. **window** keeps the newest "
        "turns. **off** only repairs what a provider would refuse.",
    )
    recall: Literal["preset", "auto", "always", "never"] = Field(
        default="preset",
        title="Recall of older messages",
        description="**auto** recalls when the recent part of the chat lacks what is asked for; "
        "**always** and **never** overrule that.",
    )
    context_percent: int = Field(
        default=0,
        ge=0,
        le=100,
        title="Share of the context window (%)",
        description="How much of the model's window a request may fill, 1 to 100. 0: the preset's.",
    )
    default_window: int = Field(
        default=8192,
        ge=256,
        le=100_000_000,
        title="Window of unknown models (tokens)",
        description="Used when neither the model nor its settings tell the size of its window.",
    )
    answer_reserve: int = Field(
        default=0,
        ge=0,
        le=10_000_000,
        title="Room for the answer (tokens)",
        description="Kept free when a request does not set `max_tokens` itself. "
        "0: what the share of the window leaves.",
    )
    cut_at_percent: int = Field(
        default=0,
        ge=0,
        le=100,
        title="Cut when this full (%)",
        description="30 to 100: how full the budget may get before old turns leave. "
        "0: the preset's.",
    )
    cut_to_percent: int = Field(
        default=0,
        ge=0,
        le=95,
        title="Cut down to (%)",
        description="5 to 95: what a cut leaves of the budget. Lower means fewer cuts, and so a "
        "prompt cache that lives longer. 0: the preset's.",
    )
    recall_percent: int = Field(
        default=0,
        ge=0,
        le=95,
        title="Room for recalled messages (%)",
        description="Share of the budget that recalled messages may take. 0: the preset's.",
    )
    deep_recall_percent: int = Field(
        default=0,
        ge=0,
        le=95,
        title="Room for a deep recall (%)",
        description="Share of the budget when a question plainly asks for what lies far back; "
        "recent turns make room for that one answer. 0: the preset's.",
    )
    recall_floor: float = Field(
        default=0.05,
        ge=0.0,
        le=1.0,
        title="Least relevance for recall",
        description="0 to 1: older messages below this relevance are never recalled.",
    )
    pair_coherence: float = Field(
        default=0.0,
        ge=0.0,
        le=1.0,
        title="Pair coherence",
        description="0 to 1: how much of a question's relevance its answer inherits. 0: what the "
        "policy has by itself.",
    )
    tool_penalty: float = Field(
        default=1.0,
        ge=0.0,
        le=1.0,
        title="Tool penalty",
        description="0 to 1: factor on the relevance of tool calls and their results. 1: what the "
        "policy has by itself.",
    )
    read_flags: bool = Field(
        default=True,
        title="Read flags in messages",
        description="Users may begin a message with `!pin`, `!full`, `!recent=6` and the like.",
    )
    locked_flags: str = Field(
        default="none",
        title="Locked flags",
        description="Flags that users may not use, separated by commas: `full, target`.",
    )
    provider_rules: Literal[
        "auto",
        "openai",
        "responses",
        "anthropic",
        "gemini",
        "mistral",
        "deepseek",
        "template",
        "permissive",
    ] = Field(
        default="auto",
        title="Provider's rules",
        description="Which order of messages the provider accepts. **auto**: by the model's name. "
        "**template**: local models whose chat template wants user and assistant in turn.",
    )
    model_overrides: str = Field(
        default="{}",
        title="Settings per model (JSON)",
        description='Other values for some models: `{"llama*": {"max_tokens": 6000}}`. '
        "Names may hold `*`; the first name that matches counts.",
    )
    show_sources: bool = Field(
        default=False,
        title="Show recalled messages as sources",
        description="Lists what was recalled under the answer, like the sources of a document.",
    )
    deadline_seconds: float = Field(
        default=10.0,
        ge=0.1,
        le=120.0,
        title="Deadline (seconds)",
        description="If it takes longer than this, the chat is sent as it is.",
    )
    ledger_file: str = Field(
        default="none",
        title="Ledger file",
        description="A file on the server to which a line of JSON is added for each turn: tokens "
        "and cost by chat, no text. Needs the installed package eunoe. **none**: in memory alone.",
    )
    redis_url: str = Field(
        default="none",
        title="Redis for the ledger",
        description="Address of a Redis server, `redis://host:6379/0`, that adds the ledger up "
        "over several workers. Needs the installed packages eunoe and redis. **none**: in memory.",
        json_schema_extra={"input": {"type": "password"}},
    )
    priority: int = Field(
        default=100,
        ge=-10_000,
        le=10_000,
        title="Priority",
        description="Filters run from low to high. This one should run last, to count what the "
        "others add.",
    )


def unless_none(text: str) -> str:
    """A text setting; empty where it says "none"."""
    return "" if text.strip().lower() == "none" else text.strip()


class FilterUserValves(ForgivingModel):
    """Settings of one user; they can only ask for less than the operator allows."""

    enabled: bool = Field(
        default=True,
        title="Manage the context of my chats",
        description="Off: everything is sent, until the model refuses it.",
    )
    max_tokens: int = Field(
        default=0,
        ge=0,
        le=100_000_000,
        title="Max tokens",
        description="Send at most this much in my chats. 0: what the administrator set.",
    )
    show_status: bool = Field(
        default=True,
        title="Show status line",
        description="One line above each answer, if the administrator allows it.",
    )


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
        cut_to_percent=40,
        recall_percent=15,
        deep_recall_percent=80,
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
        deep_recall_percent=80,
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
    override = _valve_override_for(valves.model_overrides, model_id)
    known = {k: v for k, v in override.items() if k in FilterValves.model_fields}
    chosen = FilterValves(**{**valves.model_dump(), **known})
    preset = FILTER_PRESETS[chosen.preset]
    filled = {
        name: getattr(preset, name)
        for name in FilterPreset.__dataclass_fields__
        if getattr(chosen, name) in (0, "preset")
    }
    return chosen.model_copy(update=filled)


def _valve_override_for(text: str, model_id: str) -> dict[str, Any]:
    """The first entry whose pattern matches the model; empty for text that is no JSON object."""
    try:
        table = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(table, dict):
        return {}
    for pattern, values in table.items():
        if fnmatchcase(model_id.lower(), pattern.lower()) and isinstance(values, dict):
            return values
    return {}
