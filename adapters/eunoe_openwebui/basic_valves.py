"""What most administrators set, if anything: the first part of the host's page."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from eunoe_openwebui.forgiving import ForgivingModel


class BasicValves(ForgivingModel):
    """How much is sent, and how it is chosen; 0 or "preset" leaves a choice to the preset."""

    preset: Literal["balanced", "saver", "thorough", "window"] = Field(
        default="balanced",
        title="Preset",
        description="A ready choice for all that is left at 0 or **preset** below. **balanced**: "
        "the newest messages stay, older ones come back when a question needs them. **saver**: "
        "the same in half the room. **thorough**: picks from the whole chat for every question, "
        "which costs more. **window**: the newest messages alone.",
    )
    max_tokens: int = Field(
        default=0,
        ge=0,
        le=100_000_000,
        title="Max tokens",
        description="The most that a request may take: messages, tools and the room for the answer "
        "together. 1,000 tokens are about 750 English words. 0: what the model can hold.",
    )
    show_status: bool = Field(
        default=True,
        title="Show status line",
        description="One line above each answer: how many tokens were sent of those allowed, how "
        "many of them the provider had in its cache, how many older messages were recalled and how "
        "many left out, what was saved against sending the whole chat. ≈ marks an estimate.",
    )
    on_overflow: Literal["truncate", "keep", "refuse"] = Field(
        default="truncate",
        title="If a message is too long",
        description="When the newest message alone is more than may be sent: **truncate** shortens "
        "it with a visible mark, **keep** sends it whole, **refuse** answers with an error.",
    )
    policy: Literal[
        "preset",
        "stable",
        "relevance",
        "window",
        "lethe",
        "lethes",
        "dycp",
        "lethus",
        "unified",
        "off",
    ] = Field(
        default="preset",
        title="How messages are chosen",
        description="**stable**: the newest messages, and older ones when a question needs them; "
        "each request begins like the one before, so a provider's cache makes it cheap. "
        "**relevance**: from the whole chat, anew each time. **window**: the newest ones. "
        "**lethe**, **lethes**, **dycp**, **lethus**: other published ways, to compare; "
        "**unified**: these joined. "
        "**off**: all of them; only what a provider would refuse is repaired.",
    )
    recall: Literal["preset", "auto", "always", "never"] = Field(
        default="preset",
        title="Recall of older messages",
        description="Older messages that are not sent any more can come back as a quote before the "
        "question. **auto**: if the question needs what the newest messages lack. **always**: "
        "with every question. **never**.",
    )
    context_percent: int = Field(
        default=0,
        ge=0,
        le=100,
        title="Share of the context window (%)",
        description="How much of what the model can hold may be filled, 1 to 100; the rest is for "
        "the answer. 0: the preset's.",
    )
    default_window: int = Field(
        default=8192,
        ge=256,
        le=100_000_000,
        title="Window of unknown models (tokens)",
        description="How much a model is taken to hold if neither its server, its name nor its "
        "parameter `num_ctx` tells. Raise it if the status line allows less than your model can.",
    )
    answer_reserve: int = Field(
        default=0,
        ge=0,
        le=10_000_000,
        title="Room for the answer (tokens)",
        description="Kept free for the answer where a request does not set `max_tokens` itself. "
        "0: only what the share of the window leaves.",
    )
    cut_at_percent: int = Field(
        default=0,
        ge=0,
        le=100,
        title="Cut when this full (%)",
        description="30 to 100: how much of the allowed tokens the chat may fill before its oldest "
        "messages are left out. 0: the preset's.",
    )
    cut_to_percent: int = Field(
        default=0,
        ge=0,
        le=95,
        title="Cut down to (%)",
        description="5 to 95: how much of the allowed tokens is still filled after that. A low "
        "value means fewer cuts, and each cut makes a provider's cache start anew. "
        "0: the preset's.",
    )
    recall_percent: int = Field(
        default=0,
        ge=0,
        le=95,
        title="Room for recalled messages (%)",
        description="Share of the allowed tokens that recalled messages may take. 0: the preset's.",
    )
    deep_recall_percent: int = Field(
        default=0,
        ge=0,
        le=95,
        title="Room if a question is all about the past (%)",
        description="The same for a question whose answer lies far back: for that one answer, "
        "newer messages make room. 0: the preset's.",
    )
    recall_floor: float = Field(
        default=0.005,
        ge=0.0,
        le=1.0,
        title="Least relevance for recall",
        description="0 to 1: messages that matter less than this share of the one that matters "
        "most are not recalled.",
    )
    pair_coherence: float = Field(
        default=0.0,
        ge=0.0,
        le=1.0,
        title="Pair coherence",
        description="0 to 1: how much an answer counts because its question matters, and the other "
        "way round.",
    )
    tool_penalty: float = Field(
        default=1.0,
        ge=0.0,
        le=1.0,
        title="Tool penalty",
        description="0 to 1: factor on how much results of tools matter. 1: as much as other text.",
    )
    read_flags: bool = Field(
        default=True,
        title="Read flags in messages",
        description="Users may begin a message with `!pin` (always send this one), `!full` (send "
        "as much as allowed), `!recall`, `!norecall`, `!recent=6`, `!target=4000` or `!why` (show "
        "what was sent, and why); several as `!pin,why`. The model does not see flags.",
    )
