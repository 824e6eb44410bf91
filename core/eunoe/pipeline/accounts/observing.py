"""Telling an observer what became of a request; nothing of it reaches the request.

The clock is read here alone, and only where somebody observes.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from eunoe.domain.cost import CostAccount
from eunoe.domain.event import RequestEvent
from eunoe.domain.log import logger
from eunoe.domain.ports import Observer
from eunoe.domain.report import DecisionList, Report
from eunoe.pipeline.accounts.forecasting import enter_requests
from eunoe.pipeline.accounts.sent_lists import SentLists, sent_list
from eunoe.pipeline.arranging.sent_parts import tokens_by_part
from eunoe.pipeline.result import OrchestratorResult
from eunoe.stages.accounting.forecast import RequestForecast
from eunoe.stages.accounting.ledger import Ledger
from eunoe.stages.accounting.price import PriceLookup
from eunoe.stages.accounting.request_cost import cost_of_entry

_FLAG_VALUE = re.compile(r"(the \d+\w\w message: ![a-z_]+)=.*(: (?:allowed|it is) )", re.DOTALL)


class StageClock:
    """The time that stages take; a stage met again adds to its time."""

    def __init__(self) -> None:
        self.milliseconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def mark(self, stage: str) -> None:
        """A stage has ended."""
        now = time.perf_counter()
        taken = 1000 * (now - self._last)
        self.milliseconds[stage] = self.milliseconds.get(stage, 0.0) + taken
        self._last = now


@contextmanager
def faults_of_observer() -> Iterator[None]:
    """What fails while an observer is told is logged by its class, and goes no further."""
    try:
        yield
    except Exception as error:
        logger.warning("the observer failed: %s", type(error).__name__)


class ObserverDesk:
    """Makes the event of each request and hands it over. Safe across threads.

    Args:
        observer: is told; a fault of its own is logged by its class, never raised.
        prices: of models.
    """

    def __init__(self, observer: Observer, prices: PriceLookup) -> None:
        self.observer = observer
        self._prices = prices
        self._lists = SentLists()

    def tell(
        self,
        result: OrchestratorResult,
        given: Sequence[Mapping[str, Any]],
        *,
        tools: object = None,
        model_id: str | None = None,
        session_id: str = "",
        milliseconds: Mapping[str, float] | None = None,
    ) -> None:
        """Tell of one request.

        Args:
            result: of the request.
            given: its messages before anything was chosen.
            tools: schemas sent along.
            model_id: the model.
            session_id: the chat; what was sent before is known of chats with a name alone.
            milliseconds: that each stage took.
        """
        with faults_of_observer():
            lost = cache_lost(self._lists, result, given, tools, model_id, session_id)
            report = replace(result.report, cache_lost=lost)
            event = request_event(
                result, report, given, self._prices, model_id, session_id, milliseconds or {}
            )
            self.observer.observe(event)


def request_event(
    result: OrchestratorResult,
    report: Report,
    given: Sequence[Mapping[str, Any]],
    prices: PriceLookup,
    model_id: str | None,
    session_id: str,
    milliseconds: Mapping[str, float],
    *,
    forecast: RequestForecast | None = None,
    ledger: Ledger | None = None,
    key: str = "",
    source: str = "",
) -> RequestEvent:
    """What an observer is told of a request; what a user wrote as a flag's value is left out.

    Args:
        result: of the request.
        report: of the request; may say more than that of the result.
        given: its messages before anything was chosen.
        prices: of models.
        model_id: the model.
        session_id: the chat.
        milliseconds: that each stage took.
        forecast: in place of the result's, where more is known.
        ledger: of the request; by default it is estimated from the forecast.
        key, source: of the event.
    """
    forecast = result.forecast if forecast is None else forecast
    if ledger is None:
        ledger = enter_requests([forecast], model_id=model_id, prices=prices)
    warnings = tuple(_FLAG_VALUE.sub(r"\1=…\2", warning) for warning in report.warnings)
    cost = report.cost  # as a value: what works it out holds the chat
    entered = cost_of_entry(ledger, cost.most_usd if cost is not None else 0.0)
    return RequestEvent(
        report=replace(report, warnings=warnings, costing=CostAccount.of(entered or cost)),
        model_id=model_id or "",
        session_id=session_id,
        forecast=_forecast_figures(forecast),
        ledger=ledger.flat(),
        milliseconds=dict(milliseconds),
        roles=tuple(str(message.get("role") or "") for message in given),
        parts=tokens_by_part(result.placements, report),
        key=key,
        source=source,
    )


def failed_event(said: str, model_id: str, session_id: str, source: str) -> RequestEvent:
    """What an observer is told of a request that got no report; ``said`` is what became of it."""
    report = Report(
        decisions=DecisionList((), {}),
        tokens_before=0,
        tokens_after=0,
        budget=0,
        policy="none",
        profile="none",
        warnings=(said,),
    )
    return RequestEvent(report=report, model_id=model_id, session_id=session_id, source=source)


def cache_lost(
    lists: SentLists,
    result: OrchestratorResult,
    given: Sequence[Mapping[str, Any]],
    tools: object,
    model_id: str | None,
    session_id: str,
    *,
    remember: bool = True,
) -> str:
    """Why the provider must read anew what it had read before; empty if eunoe or nothing is why."""
    if not session_id:
        return ""
    report = result.report
    now = sent_list(
        given,
        result.placements,
        report.decisions.sizes,
        tools=tools,
        tool_tokens=report.tool_tokens,
    )
    outlook = lists.follow(session_id, now, model_id=model_id or "", remember=remember)
    return outlook.bust.describe() if outlook.bust is not None else ""


def _forecast_figures(forecast: RequestForecast) -> dict[str, int]:
    figures: dict[str, int] = {}
    for name in ("sent", "untouched", "window"):
        prompt = getattr(forecast, name)
        figures |= {name: prompt.prompt, f"{name}_repeated": prompt.repeated}
    return figures
