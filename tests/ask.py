"""One request of the library, counted by the judge's own measure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from eunoe import (
    ContextOrchestrator,
    Conversation,
    OrchestratorResult,
    Settings,
    TokenBudget,
    Violation,
    lint,
)
from eunoe.domain.ports import TokenCounter
from eunoe.pipeline.chat.transcript import PipelineMemory
from eunoe.stages.own_servers import OWN_SERVER_CODES
from judge import Raw, ThirdsCounter


def orchestrator(
    budget: int = 0,
    *,
    on_overflow: Any = "raise",
    counter: TokenCounter | None = None,
    memory: PipelineMemory | None = None,
    flag_cap: int | None = None,
    **settings: Any,
) -> ContextOrchestrator:
    """An orchestrator that counts as the judge does and remembers nothing yet."""
    return ContextOrchestrator(
        TokenBudget(budget),
        settings=Settings(**settings),
        on_overflow=on_overflow,
        token_counter=counter if counter is not None else ThirdsCounter(),
        memory=memory if memory is not None else PipelineMemory(),
        flag_cap=flag_cap,
    )


def ask(
    messages: Sequence[Raw],
    budget: int = 0,
    profile: str = "openai",
    *,
    by: ContextOrchestrator | None = None,
    policy: str | None = None,
    tools: list[Raw] | None = None,
    reserve: int | None = None,
    **more: Any,
) -> OrchestratorResult:
    """What the library answers for a chat; a new orchestrator unless one is given."""
    asked = by if by is not None else orchestrator(budget, **more)
    return asked.process_sync(
        Conversation.from_openai_messages(messages),
        profile=profile,
        policy=policy,
        tools=tools,
        output_reserve=reserve,
        budget=TokenBudget(budget),
    )


def broken_rules(messages: Sequence[Raw], profile: str = "openai") -> list[Violation]:
    """The rules that a list breaks, those apart that only the provider's own servers keep."""
    return [v for v in lint(messages, profile) if v.code not in OWN_SERVER_CODES]


def sent_by(result: OrchestratorResult) -> list[Raw]:
    """The list that would be sent."""
    return result.conversation.to_openai_messages()


def bytes_of(value: Any) -> str:
    """A value as bytes to compare; order of keys included."""
    return json.dumps(value, default=repr)
