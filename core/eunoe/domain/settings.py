"""Every knob once: its default, its unit, its range."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal

from eunoe.domain.errors import SettingsError

PolicyName = Literal["stable", "relevance", "window", "off"]
POLICY_NAMES: tuple[str, ...] = ("stable", "relevance", "window", "off")

_SETTING_RANGES: dict[str, tuple[float, float]] = {
    "high_water": (0.3, 1.0),
    "low_water": (0.05, 0.95),
    "recall_tokens": (0, 1_000_000),
    "recall_share": (0.0, 0.95),
    "reserve_share": (0.0, 0.5),
    "deep_recall_share": (0.0, 0.95),
    "recall_floor": (0.0, 1.0),
    "cost_exponent": (0.0, 1.0),
    "pair_coherence": (0.0, 1.0),
    "tool_penalty": (0.0, 1.0),
    "recency_fallback_turns": (1, 100),
    "max_candidates": (1, 10_000),
    "stub_characters": (16, 400),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How the pipeline works. All values have a default that suits a chat of any length.

    Attributes:
        policy: ``stable`` keeps the prompt cache; ``relevance`` ranks the whole history;
            ``window`` keeps the newest turns; ``off`` only mends.
        high_water: share of the room at which the window is cut, in [0.3, 1].
        low_water: share of the room that a cut leaves, in [0.05, 0.95], below ``high_water``.
        recall: ``auto`` lets the gate decide, ``always`` and ``never`` overrule it.
        recall_tokens: tokens that recalled text may take; evidence needs so many, whatever the room.
        recall_share: share of the room that it may take where that is more, in [0, 0.95].
        reserve_share: share of the room that the window leaves free for recall at most, in [0, 0.5].
        deep_recall_share: share of the room that it may take at most, in [0, 0.95]; if the free room
            beside the window holds too little of what is relevant, the window makes room for that
            one turn.
        recall_floor: share of the best relevance, in [0, 1], below which nothing is recalled.
        cost_exponent: how hard length is priced when choosing, in [0, 1].
        pair_coherence: share of a question's relevance that its answer inherits, in [0, 1].
        tool_penalty: factor on the relevance of tool flow, in [0, 1].
        recency_fallback_turns: turns kept at least where there is no signal.
        max_candidates: messages that the selection looks at, the most relevant first.
        stub_characters: length of a stub that stands for an elided result.
        read_flags: whether ``!flags`` in user messages are read.
        locked_flags: names of flags that users may not use.
        scale_by_family: whether a model whose own vocabulary is not on this machine is counted by
            the common tokenizer times a factor for its family, instead of without a factor.

    Raises:
        SettingsError: a value is outside its range, or the water marks are the wrong way round.
    """

    policy: str = "stable"
    high_water: float = 1.0
    low_water: float = 0.35
    recall: Literal["auto", "always", "never"] = "auto"
    recall_tokens: int = 3200
    recall_share: float = 0.15
    reserve_share: float = 0.2
    deep_recall_share: float = 0.8
    recall_floor: float = 0.005
    cost_exponent: float = 0.5
    pair_coherence: float = 0.8
    tool_penalty: float = 0.5
    recency_fallback_turns: int = 3
    max_candidates: int = 2000
    stub_characters: int = 120
    read_flags: bool = True
    locked_flags: tuple[str, ...] = ()
    scale_by_family: bool = False

    def __post_init__(self) -> None:
        if self.policy not in POLICY_NAMES:
            raise SettingsError("policy", self.policy, ", ".join(POLICY_NAMES))
        if self.recall not in ("auto", "always", "never"):
            raise SettingsError("recall", self.recall, "auto, always, never")
        for field in fields(self):
            if field.name not in _SETTING_RANGES:
                continue
            low, high = _SETTING_RANGES[field.name]
            value = getattr(self, field.name)
            kinds = int if isinstance(field.default, int) else (int, float)
            if not isinstance(value, kinds) or isinstance(value, bool) or not low <= value <= high:
                raise SettingsError(field.name, value, f"from {low:g} to {high:g}")
        if self.low_water >= self.high_water:
            raise SettingsError(
                "low_water", self.low_water, f"below high_water {self.high_water:g}"
            )
