"""What a provider's report of the last request says of our count, applied to the next one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Protocol

from eunoe.domain.conversation import Conversation
from eunoe.pipeline.asked_request import AskedRequest, no_mark
from eunoe.pipeline.chat.memory import count_entries
from eunoe.pipeline.chat.transcript import PipelineMemory
from eunoe.pipeline.result import OrchestratorResult
from eunoe.pipeline.usage_factor import Replayed, read_usage_factor


class Choose(Protocol):
    """Answers a request; nothing is learnt from it unless it says so."""

    def __call__(
        self, conversation: Conversation, asked: AskedRequest, *, learn: bool = True
    ) -> OrchestratorResult:
        """The result."""
        ...


def corrected_by_usage(
    conversation: Conversation,
    asked: AskedRequest,
    usage: object,
    memory: PipelineMemory,
    choose: Choose,
) -> AskedRequest:
    """The same, with how many tokens the provider counts for each of ours.

    Args:
        usage: as it was reported; see ``read_usage_factor``.
        memory: of the orchestrator.
        choose: answers the request before again, if only that tells what was sent then.
    """

    def replay(before: Conversation, factor: float) -> Replayed:
        result = choose(before, replace(asked, factor=factor, mark=no_mark), learn=False)
        return Replayed(result.token_count, result.conversation is before)

    def count_answer(answer: Mapping[str, Any]) -> int:
        entries = memory.contents(asked.counter.name).read_all([answer])
        count_entries(entries, asked.counter)
        return entries[0].tokens

    reading = read_usage_factor(usage, conversation, replay, count_answer)
    return replace(asked, factor=reading.factor, notes=(*asked.notes, *reading.warnings))
