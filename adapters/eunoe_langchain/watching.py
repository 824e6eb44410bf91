"""What the name of a thread tells: what was sent in it before, for the report and an observer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config

from eunoe import Observer, OrchestratorResult, Report, SettingsError, enter_requests
from eunoe.pipeline.accounts.observing import cache_lost, faults_of_observer, request_event
from eunoe.pipeline.accounts.sent_lists import SentLists
from eunoe.stages.accounting.priced_limit import PricedLimit
from eunoe_langchain.money import forecast_of_plan

_THREAD_KEYS = ("thread_id", "session_id", "conversation_id")
_sent_lists = SentLists()


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanWatch:
    """Who watches a plan.

    Attributes:
        thread: names the chat; empty where the host names none, and nothing is known of it then.
        observer: is told of the request; None for nobody.
        looks_only: the list is not sent, as in ``explain``: nobody is told, nothing remembered.
    """

    thread: str = ""
    observer: Observer | None = None
    looks_only: bool = False


def check_observer(value: Any) -> None:
    """Refuse what is no observer where it is set.

    Raises:
        SettingsError: it has no method ``observe``.
    """
    if value is not None and not callable(getattr(value, "observe", None)):
        raise SettingsError("observer", value, "an object with observe(event), or None")


def thread_name(config: RunnableConfig | None = None) -> str:
    """The chat of a call, as LangGraph and message histories name it; empty if none does."""
    configurable = ensure_config(config).get("configurable") or {}
    return next((str(v) for key in _THREAD_KEYS if (v := configurable.get(key))), "")


def watched_report(
    watch: PlanWatch,
    result: OrchestratorResult,
    report: Report,
    given: Sequence[Mapping[str, Any]],
    tools: Sequence[Mapping[str, Any]],
    model_id: str | None,
    milliseconds: float,
    limit: PricedLimit,
) -> Report:
    """The report with what is known of the thread; the observer is told. Never raises.

    Args:
        watch: who watches.
        result: of the plan.
        report: of the plan, as the caller's counter has it.
        given: what was planned.
        tools: schemas sent along.
        model_id: the model.
        milliseconds: that planning took.
        limit: whose price counts.
    """
    with faults_of_observer():
        lost = cache_lost(
            _sent_lists,
            result,
            given,
            list(tools),
            model_id,
            watch.thread,
            remember=not watch.looks_only,
        )
        report = replace(report, cache_lost=lost)
        if watch.observer is not None and not watch.looks_only:
            times = {"planning": milliseconds}
            forecast = forecast_of_plan(result, report.tokens_after)
            entry = enter_requests([forecast], model_id=limit.model_id, prices=limit.prices)
            watch.observer.observe(
                request_event(
                    result,
                    report,
                    given,
                    limit.prices,
                    model_id,
                    watch.thread,
                    times,
                    forecast=forecast,
                    ledger=entry,
                    source="LangChain",
                )
            )
    return report
