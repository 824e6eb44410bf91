"""From a request that was read and counted to the list that is sent, and the account of it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Literal

from eunoe.domain.conversation import Conversation
from eunoe.domain.errors import BudgetError
from eunoe.domain.report import Overrun
from eunoe.pipeline.accounts.forecasting import forecast_of
from eunoe.pipeline.arranging.continuity import declared_cut
from eunoe.pipeline.arranging.fitting import fit_view
from eunoe.pipeline.arranging.in_place import whole_view
from eunoe.pipeline.arranging.shortening import shorten_turn
from eunoe.pipeline.arranging.view import Built, View
from eunoe.pipeline.asking import AskedRequest
from eunoe.pipeline.ground import nothing_to_change
from eunoe.pipeline.policies.deciding import decide_in_time
from eunoe.pipeline.policies.stable import summary_before_the_first_cut
from eunoe.pipeline.reporting import make_report
from eunoe.pipeline.request import Request, list_tokens
from eunoe.pipeline.result import OrchestratorResult, placements_of

OnOverflow = Literal["raise", "truncate", "keep"]


def answer_request(
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
    if fits and nothing_to_change(request):
        view, built, overrun = None, None, None
        if asked.policy == "stable":
            request.due = summary_before_the_first_cut(request)
    else:
        try:
            view, built, overrun = _decide(request, asked, on_overflow, fits=fits)
            asked.mark("fitting")
            view.cut = declared_cut(request, view, built)
        except BudgetError as error:
            raise BudgetError(asked.in_all(error.needed), asked.limit, asked.reserve) from None
        if overrun is not None:
            overrun = Overrun(needed=asked.in_all(overrun.needed), allowed=asked.limit)
    report = make_report(request, asked, view, built, overrun, before)
    sent, slots = conversation, built.slots if built is not None else None
    if slots is not None:
        sent = Conversation(tuple([s.raw for s in slots]), conversation.session_id)
    return OrchestratorResult(
        conversation=sent,
        report=report,
        place=partial(placements_of, conversation, slots),
        foresee=partial(forecast_of, request, report),
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
