"""From a request that was read and counted to the list that is sent, and the account of it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from eunoe.domain.conversation import Conversation
from eunoe.domain.errors import BudgetError
from eunoe.domain.ports import TokenCounter
from eunoe.domain.profile import ProviderProfile
from eunoe.domain.report import Overrun
from eunoe.pipeline.continuity import declared_cut
from eunoe.pipeline.fitting import fit_view
from eunoe.pipeline.forecasting import forecast_of
from eunoe.pipeline.ground import nothing_to_change
from eunoe.pipeline.observing import no_mark
from eunoe.pipeline.policies import decide_in_time, whole_view
from eunoe.pipeline.reporting import make_report
from eunoe.pipeline.request import Request, list_tokens
from eunoe.pipeline.result import OrchestratorResult, placements_of
from eunoe.pipeline.shortening import shorten_turn
from eunoe.pipeline.stable import summary_before_the_first_cut
from eunoe.pipeline.view import Built, View

OnOverflow = Literal["raise", "truncate", "keep"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedRequest:
    """What a caller asks of a request, beside the chat.

    Attributes:
        policy: that chooses.
        profile: whose rules the list must pass.
        counter: counts tokens.
        limit: tokens allowed in all, as the provider counts them; 0 for no limit.
        tool_tokens: of these, the tools' schemas, by our count.
        reserve: of these, left for the answer.
        factor: provider's tokens for each that we count.
        chat: whose labels count that were made ahead; empty for none.
        expired: whether the time for scoring is over.
        notes: for the report's warnings.
        mark: told when a stage has ended, for an observer.
    """

    policy: str
    profile: ProviderProfile
    counter: TokenCounter
    limit: int
    tool_tokens: int
    reserve: int
    chat: str
    expired: Callable[[], bool]
    factor: float = 1.0
    notes: tuple[str, ...] = ()
    mark: Callable[[str], None] = no_mark

    @property
    def room(self) -> int | None:
        """Tokens for messages and list framing, by our count; None without a limit."""
        if not self.limit:
            return None
        return max(0, math.floor((self.limit - self.reserve) / self.factor) - self.tool_tokens)

    def in_all(self, tokens: int) -> int:
        """Tokens of messages as the provider counts all of the request, the answer's included."""
        return math.ceil((tokens + self.tool_tokens) * self.factor) + self.reserve


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
            view, built, overrun = _decide(request, asked.policy, on_overflow, fits=fits)
            view.cut = declared_cut(request, view, built)
        except BudgetError as error:
            raise BudgetError(asked.in_all(error.needed), asked.limit) from None
        if overrun is not None:
            overrun = Overrun(needed=asked.in_all(overrun.needed), allowed=asked.limit)
    report = make_report(request, view, built, overrun, before)
    report = replace(
        report,
        policy=asked.policy,
        budget=asked.limit,
        tool_tokens=asked.tool_tokens,
        reserve=asked.reserve,
        calibrated=asked.factor,
        tokens_before=before + asked.tool_tokens,
        tokens_after=report.tokens_after + asked.tool_tokens,
    )
    sent, slots = conversation, built.slots if built is not None else None
    if slots is not None:
        sent = Conversation(tuple(s.raw for s in slots), conversation.session_id)
    return OrchestratorResult(
        conversation=sent,
        report=report,
        place=partial(placements_of, conversation, slots),
        foresee=partial(forecast_of, request, report),
        due=request.due,
        sent=view.as_sent(len(request.entries)) if view is not None else None,
    )


def _decide(
    request: Request, policy: str, on_overflow: OnOverflow, *, fits: bool
) -> tuple[View, Built, Overrun | None]:
    """The whole history if that fits, else the policy's view, else the turn alone."""
    if fits or policy == "off":
        view = whole_view(request)
        built = fit_view(replace(request, allowed=None) if policy == "off" else request, view)
        if request.allowed is None or built.tokens <= request.allowed or policy == "off":
            return view, built, None
    view = decide_in_time(request, policy)
    built = fit_view(request, view)
    if request.allowed is None or built.tokens <= request.allowed:
        return view, built, None
    return shorten_turn(request, on_overflow)
