"""What an administrator and a user can set in the host's pages, few things first."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from eunoe_openwebui.basic_valves import BasicValves
from eunoe_openwebui.forgiving import ForgivingModel


class FilterValves(BasicValves):
    """All settings of the operator: the basic ones, then rules, models, money, deadline."""

    locked_flags: str = Field(
        default="none",
        title="Locked flags",
        description="Flags that users may not use, separated by commas, such as `full, target`. "
        "**none**: they may use all. **all**: they may use none.",
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
        description='Other values of these settings for some models: `{"llama*": {"Max tokens": '
        '6000, "Preset": "saver"}}`. `*` stands for any letters; the first name that matches '
        "counts.",
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
        title="Redis for several workers",
        description="A Redis server, such as `redis://host:6379/0`, that adds tokens and cost up "
        "for all workers, and keeps summaries for them. Needs the packages eunoe and redis. "
        "Empty: each worker for itself.",
        json_schema_extra={"input": {"type": "password"}},
    )
    observer_url: str = Field(
        default="none",
        title="Observer address",
        description="Where `eunoe observe` shows each request live, such as "
        "`http://127.0.0.1:8788`: what was sent, what became of each message, cost, time. Chat "
        "ids, figures and reasons are sent there in the background, no text. **none**: nothing.",
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
    entities: str = Field(
        default="none",
        title="Names by spaCy",
        description="A pipeline of spaCy that is installed on this server, such as "
        '`en_core_web_sm`. It finds names, for which "it" or "the file" in a question may stand. '
        "Needs the package eunoe[spacy]. **none**: the names that eunoe finds itself.",
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
    max_cost_usd: float = Field(
        default=0.0,
        ge=0.0,
        le=1_000_000.0,
        title="Max cost of a request ($)",
        description="The most that messages and tools of one request may cost in dollars, such as "
        "`0.01`, where the price of the model is known: no more tokens are sent than that buys, "
        "even if none of them is in the provider's cache. 0: no cap.",
    )
    live_prices: bool = Field(
        default=False,
        title="Live prices",
        description="Fetches what models cost from openrouter.ai once a day, in the background; "
        "no text is sent. Off: the prices that came with this filter.",
    )
    own_prices: str = Field(
        default="{}",
        title="Own prices (JSON)",
        description='Dollars for a million tokens, over all other prices: `{"my-model": {"input": '
        '1.5, "output": 6, "cached": 0.15}}`. `*` in a name stands for any letters. With other '
        'names for models: `{"models": {...}, "aliases": {"my-name": "gpt-4o"}}`.',
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
        description="One line above each answer: how many tokens were sent of those allowed, how "
        "many older messages were recalled and how many left out.",
    )
