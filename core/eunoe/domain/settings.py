"""Every knob once: its default, its unit, its range."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal

from eunoe.domain.checking import require_choice, require_names, require_switch
from eunoe.domain.errors import SettingsError
from eunoe.domain.flag import FLAG_NAMES

POLICY_NAMES: tuple[str, ...] = (
    "stable",
    "relevance",
    "window",
    "lethe",
    "lethes",
    "dycp",
    "lethus",
    "unified",
    "off",
)
PLACEMENT_NAMES: tuple[str, ...] = ("chronological", "u_shape")
RECALL_TIER_NAMES: tuple[str, ...] = ("gist", "summary", "stub")

_SETTING_RANGES: dict[str, tuple[float, float]] = {
    "high_water": (0.3, 1.0),
    "low_water": (0.05, 0.95),
    "recall_tokens": (0, 1_000_000),
    "recall_share": (0.0, 0.95),
    "reserve_share": (0.0, 0.5),
    "carry_share": (0.0, 0.5),
    "summary_tokens": (0, 100_000),
    "deep_recall_share": (0.0, 0.95),
    "recall_worth": (0.1, 1.0),
    "recall_floor": (0.0, 1.0),
    "cost_exponent": (0.0, 1.0),
    "pair_coherence": (0.0, 1.0),
    "tool_penalty": (0.0, 1.0),
    "recency_fallback_turns": (1, 100),
    "max_candidates": (1, 10_000),
}
_OPTIONAL_SETTINGS = ("pair_coherence", "tool_penalty")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How the pipeline works. All values have a default that suits a chat of any length.

    Attributes:
        policy: ``stable`` keeps the prompt cache; ``relevance`` ranks the whole history;
            ``window`` keeps the newest turns; ``lethe``, ``lethes``, ``dycp`` and ``lethus`` choose
            as published elsewhere; ``unified`` joins these; ``off`` only mends.
        high_water: share of the room at which the window is cut, in [0.3, 1].
        low_water: share of the room that a cut leaves, in [0.05, 0.95], below ``high_water``.
        recall: ``auto`` lets the gate decide, ``always`` and ``never`` overrule it.
        recall_tokens: tokens that recalled text may take: evidence needs so many, in any room.
        recall_worth: share of the relevance that so many tokens would bring back, in [0.1, 1], at
            which no more is recalled: a question that few messages speak to takes fewer tokens.
        recall_share: share of the room that it may take where that is more, in [0, 0.95].
        reserve_share: share of the room that the window leaves free for recall, in [0, 0.5].
        carry_share: share of the room beside the system messages, in [0, 0.5], for messages that a
            cut carries over in a chat that acts through tools: those that hold the most ids, codes
            and names.
        summary_tokens: tokens that a summary of what a cut left out may take, where a summarizer
            is given; at most 15 % of the room. 0 shows none.
        deep_recall_share: share of the room that it may take at most, in [0, 0.95]: if the room
            beside the window holds too little of what is relevant, the window makes room for that
            one turn.
        recall_floor: share of the best relevance, in [0, 1], below which nothing is recalled.
        recall_tiers: shorter forms in which recall may bring back what is too long to come whole:
            ``gist``, the sentences that the question is about; ``summary``, one that the summarizer
            wrote of that very message behind an earlier answer; ``stub``, a line that names it.
            With ``gist`` alone excerpts fill the room that whole messages leave over; with the
            others all forms compete in one choice, and fewer messages come back whole.
        cost_exponent: how hard length is priced when choosing, in [0, 1]; 0 ignores it.
        pair_coherence: share of a question's relevance that the answers of its turn inherit, and it
            of theirs, in [0, 1]; None leaves it to the policy (only ``lethes`` has any).
        tool_penalty: factor on the relevance of calls and their results, in [0, 1]; None leaves it
            to the policy (only ``lethes`` has one).
        recency_fallback_turns: turns that ``dycp`` and ``lethus`` send where nothing speaks to the
            question, if they fit.
        max_candidates: messages that the selection looks at, the most relevant first.
        placement: order of the quoted block: ``chronological``, or ``u_shape`` with the most
            relevant at both ends, where models read best; each line keeps its turn number.
        read_flags: whether ``!flags`` in user messages are read.
        locked_flags: names of flags that users may not use.
        rewrite_call_ids: whether call ids are rewritten, on both sides, where the provider's own
            servers take only another form (Mistral, Anthropic, long ones at OpenAI); off, ids are
            sent as they are.
        scale_by_family: whether a model whose own vocabulary is not on this machine is counted by
            the common tokenizer times a factor for its family, instead of without a factor. The
            proxy and the filter of Open WebUI count so.

    Raises:
        SettingsError: a value is outside its range, or the water marks are the wrong way round.
    """

    policy: str = "stable"
    high_water: float = 1.0
    low_water: float = 0.3
    recall: Literal["auto", "always", "never"] = "auto"
    recall_tokens: int = 4800
    recall_worth: float = 0.985
    recall_share: float = 0.15
    reserve_share: float = 0.2
    carry_share: float = 0.3
    summary_tokens: int = 600
    deep_recall_share: float = 0.87
    recall_floor: float = 0.005
    recall_tiers: tuple[str, ...] = ("gist",)
    cost_exponent: float = 0.75
    pair_coherence: float | None = None
    tool_penalty: float | None = None
    recency_fallback_turns: int = 3
    max_candidates: int = 500
    placement: Literal["chronological", "u_shape"] = "chronological"
    read_flags: bool = True
    locked_flags: tuple[str, ...] = ()
    rewrite_call_ids: bool = False
    scale_by_family: bool = False

    def __post_init__(self) -> None:
        require_choice("policy", self.policy, POLICY_NAMES)
        require_choice("recall", self.recall, ("auto", "always", "never"))
        require_choice("placement", self.placement, PLACEMENT_NAMES)
        for name in ("read_flags", "rewrite_call_ids", "scale_by_family"):
            require_switch(name, getattr(self, name))
        require_names("locked_flags", self.locked_flags)
        require_names("recall_tiers", self.recall_tiers)
        for tier in self.recall_tiers:
            require_choice("recall_tiers", tier, RECALL_TIER_NAMES)
        for flag in self.locked_flags:
            require_choice("locked_flags", flag, FLAG_NAMES)
        for field in fields(self):
            if field.name not in _SETTING_RANGES:
                continue
            low, high = _SETTING_RANGES[field.name]
            value = getattr(self, field.name)
            if value is None and field.name in _OPTIONAL_SETTINGS:
                continue
            kinds = int if isinstance(field.default, int) else (int, float)
            if not isinstance(value, kinds) or isinstance(value, bool) or not low <= value <= high:
                raise SettingsError(field.name, value, f"from {low:g} to {high:g}")
        if self.low_water >= self.high_water:
            raise SettingsError(
                "low_water", self.low_water, f"below high_water {self.high_water:g}"
            )


def require_settings(value: object) -> None:
    """Refuse what are no settings; None is allowed.

    Raises:
        SettingsError: it is refused.
    """
    if value is not None and not isinstance(value, Settings):
        raise SettingsError("settings", value, "Settings(...), or None")
