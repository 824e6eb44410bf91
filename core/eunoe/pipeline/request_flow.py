"""One request through all stages: read, decided, fitted, accounted for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from eunoe.domain.conversation import Conversation
from eunoe.domain.errors import BudgetError
from eunoe.domain.report import Overrun
from eunoe.domain.settings import Settings
from eunoe.pipeline.advisers.advice import Advisers
from eunoe.pipeline.arranging.continuity import declared_cut
from eunoe.pipeline.arranging.fitting import fit_view
from eunoe.pipeline.arranging.in_place import whole_view
from eunoe.pipeline.arranging.shortening import shorten_turn
from eunoe.pipeline.arranging.view import Built, View
from eunoe.pipeline.asked_request import AskedRequest
from eunoe.pipeline.chat.intake import take_in
from eunoe.pipeline.chat.transcript import PipelineMemory, forced_tokens, last_turn_start
from eunoe.pipeline.flag_limits import limit_by_flags, settings_by_flags
from eunoe.pipeline.policies.by_name import decide_in_time
from eunoe.pipeline.policies.stable import summary_before_the_first_cut
from eunoe.pipeline.reporting import make_report
from eunoe.pipeline.request import Request, list_tokens
from eunoe.pipeline.result import OrchestratorResult, placements_of
from eunoe.pipeline.strategies import Strategies
from eunoe.stages.own_servers import check_call_ids
from eunoe.stages.validity import beyond_talk, check_messages

OnOverflow = Literal["raise", "truncate", "keep"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceParts:
    """What an orchestrator brings to each request.

    Attributes:
        memory: what is remembered between requests.
        settings: the knobs; flags of a turn go over them.
        advisers: models that say more of the history than its words.
        flag_cap: tokens to which flags may raise the budget; None for none.
        on_overflow: what to do when what may not be cut is too large.
        strategies: what scores and selects in place of the house's own ways.
    """

    memory: PipelineMemory
    settings: Settings
    advisers: Advisers
    flag_cap: int | None
    on_overflow: OnOverflow
    strategies: Strategies


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
            limit = min(limit, asked.priced.money or limit)
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
            strategies=parts.strategies,
        )
        result = _answer(conversation, request, asked, parts.on_overflow)
        asked.mark("reporting")
        if learn:
            if request.tracked and parts.strategies.tracker is not None:
                parts.strategies.tracker.record(asked.chat, request.tracked)
            if result.sent is not None:
                transcript.sent.note(request.asked_as, result.sent)
            tokens = result.report.tokens_before
            parts.advisers.learn(transcript, newest, tokens, limit, result.due)
        return result
    finally:
        parts.memory.chats.release(transcript)


def _answer(
    conversation: Conversation, request: Request, asked: AskedRequest, on_overflow: OnOverflow
) -> OrchestratorResult:
    """Choose what is sent, and give the account of it.

    Args:
        conversation: as it was given.
        request: the same, read and counted.
        asked: what was asked of it.
        on_overflow: what to do when what may not be cut is too large.

    Raises:
        BudgetError: what may not be cut is too large, and ``on_overflow`` is ``raise``.
    """
    before = list_tokens(request)
    fits = request.allowed is None or before <= request.allowed
    if fits and _nothing_to_change(request):
        view, built, overrun = None, None, None
        if asked.policy == "stable":
            request.due = summary_before_the_first_cut(request)
    else:
        try:
            view, built, overrun = _decide(request, asked, on_overflow, fits=fits)
            asked.mark("fitting")
            view.cut = declared_cut(request, view, built)
        except BudgetError as error:
            needed = asked.in_all(error.needed)
            raise BudgetError(needed, asked.limit, asked.reserve, asked.most_usd) from None
        if overrun is not None:
            overrun = Overrun(needed=asked.in_all(overrun.needed), allowed=asked.limit)
    report, foresee = make_report(request, asked, view, built, overrun, before)
    sent, slots = conversation, built.slots if built is not None else None
    if slots is not None:
        sent = Conversation(tuple([s.raw for s in slots]), conversation.session_id)
    return OrchestratorResult(
        conversation=sent,
        report=report,
        place=partial(placements_of, conversation, slots),
        foresee=foresee,
        due=request.due,
        sent=view.as_sent(len(request.entries)) if view is not None else None,
    )


def _decide(
    request: Request, asked: AskedRequest, on_overflow: OnOverflow, *, fits: bool
) -> tuple[View, Built, Overrun | None]:
    """The whole history if that fits, else the policy's view, else the turn alone."""
    policy = asked.policy
    if fits or policy == "off":
        view = whole_view(request)
        built = fit_view(replace(request, allowed=None) if policy == "off" else request, view)
        if request.allowed is None or built.tokens <= request.allowed or policy == "off":
            return view, built, None
    view = decide_in_time(request, policy)
    asked.mark("choosing")
    built = fit_view(request, view)
    if request.allowed is None or built.tokens <= request.allowed:
        return view, built, None
    return shorten_turn(request, on_overflow)


def _nothing_to_change(request: Request) -> bool:
    """No flag to strip or to follow, and no rule broken."""
    if request.flags.stripped or request.flags.now.context is not None:
        return False
    if any(f.drop for f in request.flags.by_message.values()):
        return False
    if request.settings.rewrite_call_ids and check_call_ids(request.messages, request.profile):
        return False
    messages, finished = request.messages, request.turn_start
    special = request.transcript.beyond_talk + beyond_talk(messages, finished)
    return not check_messages(messages, request.profile, special)
