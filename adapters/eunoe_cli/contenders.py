"""The policies that `eunoe compare` sets side by side."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eunoe import ContextOrchestrator, Conversation, TokenBudget
from eunoe.domain.ports import Embedder, EntityExtractor
from eunoe_cli.entities import ENTITY_SECONDS
from eunoe_cli.ruler import Ruler

RawMessages = Sequence[Mapping[str, Any]]
Choose = Callable[[int], RawMessages]
"""From the number of messages that are there, to the list that is sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contest:
    """What every policy gets: one chat and one budget."""

    messages: RawMessages
    budget: int
    ruler: Ruler
    model_id: str | None = None
    tools: Sequence[Mapping[str, Any]] | None = None
    embedder: Embedder | None = None
    extractor: EntityExtractor | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """A policy: its name on the command line, its name in the table, and how it starts a chat."""

    name: str
    label: str
    start: Callable[[Contest], Choose]


def _start_untouched(contest: Contest) -> Choose:
    return lambda k: contest.messages[:k]


def _start_window(contest: Contest) -> Choose:
    return lambda k: plain_window(contest.messages[:k], contest.budget, contest.ruler)


def plain_window(messages: RawMessages, budget: int, ruler: Ruler) -> RawMessages:
    """What most chat programs do: system messages, the question, and the newest units that fit.

    A unit is a tool call with its results, or one other message. Cut anew at each request.
    """
    systems = [m for m in messages if m["role"] in ("system", "developer")]
    units = list(_units(m for m in messages if m["role"] not in ("system", "developer")))
    asked = max((i for i, unit in enumerate(units) if unit[0]["role"] == "user"), default=None)
    question = units[asked] if asked is not None else []
    left = budget - ruler.total([*systems, *question])
    start = len(units)
    while start:
        cost = 0 if start - 1 == asked else _cost(units[start - 1], ruler)
        if cost > left:
            break
        start, left = start - 1, left - cost
    if asked is not None and start > asked:
        return [*systems, *question, *(m for unit in units[start:] for m in unit)]
    while asked is not None and units[start][0]["role"] != "user":
        start += 1
    return [*systems, *(m for unit in units[start:] for m in unit)]


def _units(messages: Iterable[Mapping[str, Any]]) -> Iterable[list[Mapping[str, Any]]]:
    unit: list[Mapping[str, Any]] = []
    for message in messages:
        if message["role"] not in ("tool", "function") and unit:
            yield unit
            unit = []
        unit.append(message)
    if unit:
        yield unit


def _cost(unit: RawMessages, ruler: Ruler) -> int:
    return ruler.total(unit) - ruler.total([])


def _start_eunoe(policy: str) -> Callable[[Contest], Choose]:
    def start(contest: Contest) -> Choose:
        orchestrator = ContextOrchestrator(
            TokenBudget(contest.budget),
            on_overflow="truncate",
            embedder=contest.embedder,
            embed_in_request=True,
            entity_extractor=contest.extractor,
            structure_timeout=ENTITY_SECONDS,
        )

        def choose(k: int) -> RawMessages:
            return orchestrator.process_sync(
                Conversation.from_openai_messages(contest.messages[:k]),
                model_id=contest.model_id,
                profile=contest.ruler.profile,
                tools=contest.tools,
                policy=policy,
            ).conversation.to_openai_messages()

        return choose

    return start


def has_langchain() -> bool:
    """Whether langchain-core is installed."""
    return importlib.util.find_spec("langchain_core") is not None


def _start_langchain(contest: Contest) -> Choose:
    """``trim_messages`` with the options of its documentation, on messages made beforehand."""
    from langchain_core.messages import convert_to_messages, trim_messages
    from langchain_core.messages.utils import count_tokens_approximately

    made = [convert_to_messages([dict(message)])[0] for message in contest.messages]
    for i, message in enumerate(made):
        message.id = str(i)
    budget = contest.budget - (contest.ruler.tokens_at_start([], 0) if contest.tools else 0)

    def choose(k: int) -> RawMessages:
        kept = trim_messages(
            made[:k],
            max_tokens=budget,
            token_counter=count_tokens_approximately,
            strategy="last",
            start_on="human",
            end_on=("human", "tool"),
            include_system=True,
        )
        return [contest.messages[int(message.id or 0)] for message in kept]

    choose(1)  # what it imports at its first call is not the price of a request
    return choose


CONTENDERS: tuple[Contender, ...] = (
    Contender(name="untouched", label="untouched", start=_start_untouched),
    Contender(name="window", label="sliding window", start=_start_window),
    Contender(name="langchain", label="langchain trim", start=_start_langchain),
    Contender(name="relevance", label="eunoe relevance", start=_start_eunoe("relevance")),
    Contender(name="stable", label="eunoe stable", start=_start_eunoe("stable")),
)
