"""From a conversation and what was asked of it to the list that is sent."""

from __future__ import annotations

from dataclasses import dataclass, replace

from eunoe.domain.conversation import Conversation
from eunoe.domain.settings import Settings
from eunoe.pipeline.advisers.advice import Advisers
from eunoe.pipeline.answering import OnOverflow, answer_request
from eunoe.pipeline.asking import AskedRequest
from eunoe.pipeline.chat.intake import take_in
from eunoe.pipeline.chat.transcript import PipelineMemory, forced_tokens, last_turn_start
from eunoe.pipeline.ground import limit_by_flags, settings_by_flags
from eunoe.pipeline.request import Request
from eunoe.pipeline.result import OrchestratorResult


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceParts:
    """What an orchestrator brings to each request.

    Attributes:
        memory: what is remembered between requests.
        settings: the knobs; flags of a turn go over them.
        advisers: models that say more of the history than its words.
        flag_cap: tokens to which flags may raise the budget; None for none.
        on_overflow: what to do when what may not be cut is too large.
    """

    memory: PipelineMemory
    settings: Settings
    advisers: Advisers
    flag_cap: int | None
    on_overflow: OnOverflow


def choose_list(
    conversation: Conversation, asked: AskedRequest, parts: ChoiceParts, *, learn: bool = True
) -> OrchestratorResult:
    """Read a conversation, choose what is sent, and remember what helps later requests.

    Args:
        learn: note what was sent, and have done behind the answer what later requests need; a
            request that is only worked out again learns nothing.

    Raises:
        BudgetError: what may not be cut is too large, and ``on_overflow`` is ``raise``.
    """
    flags, transcript = take_in(conversation.raw, parts.memory, asked.counter, parts.settings)
    try:
        known, finished = len(transcript.entries), last_turn_start(flags.entries)
        if known < finished:
            transcript.grow(flags.entries[known:finished])
        newest, limit = flags.entries[finished:], asked.limit
        asked.mark("reading")
        if flags.now.target or flags.now.full:
            least = asked.in_all(forced_tokens(transcript, newest))
            limit = limit_by_flags(limit, flags.now, parts.flag_cap, least)
        if limit != asked.limit or flags.now.policy:
            asked = replace(asked, limit=limit, policy=flags.now.policy or asked.policy)
        request = Request(
            raws=flags.raws,
            entries=flags.entries,
            transcript=transcript,
            profile=asked.profile,
            counter=asked.counter,
            memory=parts.memory.contents(asked.counter.name),
            settings=settings_by_flags(parts.settings, flags.now),
            flags=flags,
            allowed=asked.room,
            expired=asked.expired,
            advisers=parts.advisers,
            chat=asked.chat,
            notes=list(asked.notes),
        )
        result = answer_request(conversation, request, asked, parts.on_overflow)
        asked.mark("reporting")
        if learn:
            if result.sent is not None:
                transcript.sent.note(request.asked_as, result.sent)
            tokens = result.report.tokens_before
            parts.advisers.learn(transcript, newest, tokens, limit, result.due)
        return result
    finally:
        parts.memory.chats.release(transcript)
