"""What an administrator and a user can set in the host's pages, few things first."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from eunoe_openwebui.forgiving import ForgivingModel


class FilterValves(ForgivingModel):
    """Settings of the operator; 0 or "preset" leaves a choice to the preset."""

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
        description="One line above each answer: what was sent, read from the provider's cache, "
        "recalled, left out, and saved against sending the whole chat. ≈ marks an estimate.",
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
        "off",
    ] = Field(
        default="preset",
        title="How messages are chosen",
        description="**stable**: the newest messages, and older ones when a question needs them; "
        "each request begins like the one before, so a provider's cache makes it cheap. "
        "**relevance**: from the whole chat, anew each time. **window**: the newest ones. "
        "**lethe**, **lethes**, **dycp**, **lethus**: other published ways, to compare. "
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
        description="How much a model is taken to hold if neither its server nor its settings say.",
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
        "what was sent, and why). The model does not see flags.",
    )
    locked_flags: str = Field(
        default="none",
        title="Locked flags",
        description="Flags that users may not use, separated by commas, such as `full, target`. "
        "**none**: they may use all.",
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
        "**template**: local models that want user and assistant in turn. **permissive**: any.",
    )
    model_overrides: str = Field(
        default="{}",
        title="Settings per model (JSON)",
        description='Other values of these settings, by their short names, for some models: `{"'
        'llama*": {"max_tokens": 6000, "preset": "saver"}}`. `*` stands for any letters; the first '
        "name that matches counts.",
    )
    show_sources: bool = Field(
        default=False,
        title="Show recalled messages as sources",
        description="Lists what was recalled under the answer, like the sources of a document. "
        "A `[1]` in the answer then links to the first of them.",
    )
    deadline_seconds: float = Field(
        default=10.0,
        ge=0.1,
        le=120.0,
        title="Deadline (seconds)",
        description="How long choosing may take. After a little more than half of it the newest "
        "messages are sent without a look at the older ones; if not even that is done in time, "
        "the chat is sent as it is. The status line says so.",
    )
    ledger_file: str = Field(
        default="none",
        title="Ledger file",
        description="A file on the server that gets a line of JSON for each turn: the chat's id, "
        "tokens and cost, no text. Needs the package eunoe installed beside Open WebUI. "
        "**none**: sums are kept in memory alone.",
    )
    redis_url: str = Field(
        default="",
        title="Redis for the ledger",
        description="A Redis server, such as `redis://host:6379/0`, that adds tokens and cost up "
        "for all workers. Needs the packages eunoe and redis. Empty: each worker for itself.",
        json_schema_extra={"input": {"type": "password"}},
    )
    embedding: Literal["off", "host", "url", "local"] = Field(
        default="off",
        title="Meaning beside words",
        description="Finds older messages that say the same in other words. **host**: with the "
        "embedding model that is set for documents. **url**: with the endpoint below. **local**: "
        "on this server, with the package eunoe[embeddings]. Chats are embedded after the answer; "
        "their text goes to that model. **off**: words alone.",
    )
    embedding_url: str = Field(
        default="none",
        title="Embedding endpoint",
        description="For **url**: such as `http://localhost:11434/v1` (OpenAI-compatible).",
    )
    embedding_model: str = Field(
        default="none",
        title="Embedding model",
        description="Its name on that server, such as `nomic-embed-text`.",
    )
    embedding_key: str = Field(
        default="",
        title="Embedding key",
        description="Key of that server; empty for none.",
        json_schema_extra={"input": {"type": "password"}},
    )
    embedding_seconds: float = Field(
        default=0.4,
        ge=0.05,
        le=10.0,
        title="Wait for the embedding (seconds)",
        description="How long a request waits for the vector of its question; then words decide.",
    )
    label_url: str = Field(
        default="none",
        title="Label endpoint",
        description="An OpenAI-compatible server whose model reads each chat after the answer, a "
        "few messages at a time, and says what later questions may need. **none**: no labels.",
    )
    label_model: str = Field(
        default="none",
        title="Label model",
        description="Its name on that server; a small one will do. **none**: no labels.",
    )
    label_key: str = Field(
        default="",
        title="Label key",
        description="Key of that server; empty for none.",
        json_schema_extra={"input": {"type": "password"}},
    )
    summary_url: str = Field(
        default="none",
        title="Summary endpoint",
        description="An OpenAI-compatible server whose model sums up, after the answers, what is "
        "left out of a chat; that is sent in its place from then on. **none**: no summaries.",
    )
    summary_model: str = Field(
        default="none",
        title="Summary model",
        description="Its name on that server. **none**: no summaries.",
    )
    summary_key: str = Field(
        default="",
        title="Summary key",
        description="Key of that server; empty for none.",
        json_schema_extra={"input": {"type": "password"}},
    )
    summary_tokens: int = Field(
        default=600,
        ge=0,
        le=100_000,
        title="Length of a summary (tokens)",
        description="The most it may take; never over 15 % of what is allowed.",
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
        description="Off: the whole chat is sent each time, until the model refuses it.",
    )
    max_tokens: int = Field(
        default=0,
        ge=0,
        le=100_000_000,
        title="Max tokens",
        description="Send at most this much in my chats; 1,000 tokens are about 750 English words. "
        "0: what the administrator set.",
    )
    show_status: bool = Field(
        default=True,
        title="Show status line",
        description="One line above each answer: what was sent, recalled and left out.",
    )
