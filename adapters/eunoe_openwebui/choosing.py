"""One choice: from the whole list, or from the bare question in the room that documents leave."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from eunoe.domain.conversation import Conversation
from eunoe.domain.errors import BudgetError
from eunoe.domain.placement import Placement
from eunoe.domain.report import Report
from eunoe.pipeline.result import OrchestratorResult
from eunoe.stages.accounting.forecast import RequestForecast
from eunoe_openwebui.documents import Documents

ChooseWithin = Callable[[Conversation, int], OrchestratorResult]


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterChoice:
    """What is sent of a list, documents included.

    Attributes:
        conversation: what was chosen from; without the documents, if they were set aside.
        result: of the pipeline, for that conversation.
        placements: what is sent.
        report, forecast: of what is sent.
    """

    conversation: Conversation
    result: OrchestratorResult
    placements: tuple[Placement, ...]
    report: Report
    forecast: RequestForecast


def choose_messages(
    choose: ChooseWithin,
    messages: Sequence[Mapping[str, Any]],
    documents: Documents | None,
    *,
    room: int,
    chat: str,
    again: bool,
) -> FilterChoice:
    """Choose what is sent.

    Documents that leave too little room, or a question that itself must be cut, are part of the
    choice like any text.

    Args:
        choose: the pipeline: a conversation and its budget.
        messages: as given.
        documents: in front of the newest question; None for none.
        room: tokens allowed.
        chat: name of the chat; empty for a program.
        again: the request before this one had the documents, too.

    Raises:
        BudgetError: it does not fit and the valves say "refuse".
    """
    if documents is not None and documents.room(room) < room:
        aside = _beside_documents(choose, messages, documents, room=room, chat=chat, again=again)
        if aside is not None:
            return aside
    whole = Conversation.from_openai_messages(list(messages), session_id=chat or None)
    result = choose(whole, room)
    return FilterChoice(
        conversation=whole,
        result=result,
        placements=result.placements,
        report=result.report,
        forecast=result.forecast,
    )


def _beside_documents(
    choose: ChooseWithin,
    messages: Sequence[Mapping[str, Any]],
    documents: Documents,
    *,
    room: int,
    chat: str,
    again: bool,
) -> FilterChoice | None:
    """The choice for the bare question; None where that itself does not fit beside them."""
    bare = Conversation.from_openai_messages(documents.taken_out(messages), session_id=chat or None)
    kept_free = documents.room(room)
    try:
        result = choose(bare, room - kept_free)
        if room - kept_free < result.report.tokens_before <= room - documents.tokens:
            kept_free = documents.tokens  # with no more than that the chat is sent whole
            result = choose(bare, room - kept_free)
    except BudgetError:
        return None
    report = result.report
    if report.truncated or report.infeasible is not None:
        return None
    placements = documents.put_back(result.placements)
    if placements is None:
        return None
    more = documents.tokens
    return FilterChoice(
        conversation=bare,
        result=result,
        placements=placements,
        report=replace(
            report,
            decisions=report.decisions.with_more_tokens(documents.place, more),
            tokens_before=report.tokens_before + more,
            tokens_after=report.tokens_after + more,
            budget=report.budget + kept_free,
        ),
        forecast=result.forecast.with_more_tokens(more, again=again),
    )
