"""From LangChain messages to the core and back, in one place for every door of this package."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Literal

from langchain_core.messages import BaseMessage

from eunoe import (
    BudgetError,
    ContextOrchestrator,
    Conversation,
    EunoeError,
    OrchestratorResult,
    Report,
    SettingsError,
    TokenBudget,
)
from eunoe.domain.log import logger
from eunoe.pipeline.accounts.observing import StageClock
from eunoe.stages.accounting.priced_limit import PricedLimit
from eunoe.stages.counting.tokenizer import model_counter
from eunoe_langchain.accounts import report_with_orders, unplanned_report
from eunoe_langchain.callers import CallersCounter, RunningCounter, running
from eunoe_langchain.counters import named_counter, schema_text, sum_of_messages
from eunoe_langchain.knobs import Knobs, knobs_of, settings_of
from eunoe_langchain.models import PlanModels
from eunoe_langchain.money import PlanMoney, priced_name, priced_report
from eunoe_langchain.providers import model_name_in, profile_from
from eunoe_langchain.reading import PlanDict, is_instruction_to_the_store, planned_dicts
from eunoe_langchain.reasoning import without_old_reasoning
from eunoe_langchain.watching import PlanWatch, watched_report
from eunoe_langchain.writing import write_back

OnOverflow = Literal["raise", "keep", "truncate"]
Reasoning = Literal["keep", "strip_before_cut"]
CALLERS_OWN = "the caller's own"
_ATTEMPTS = 12


@dataclass(frozen=True, kw_only=True)
class PlanOptions:
    """What one plan needs to know; see ``HistoryOptimizer`` for the fields it shares.

    Attributes:
        tools: schemas sent along, counted against the budget.
        provider: the provider of the model that comes next, if a host knows it.
        model_hint: the model as a host names it, for its tokenizer alone.
        models: that are asked beside the words.
        watch: whose chat it is, and who is told.
        money: prices, and what the input may cost.
        deadline: seconds for scoring; None for no limit.

    Raises:
        SettingsError: ``max_tokens`` is not above 0, ``reserve_tokens`` is below 0.
    """

    max_tokens: int
    reserve_tokens: int = 0
    on_overflow: OnOverflow = "raise"
    token_counter: Any = "approximate"  # noqa: S105
    policy: str | None = None
    profile: str | None = None
    model_id: str | None = None
    provider: str | None = None
    model_hint: str | None = None
    reasoning: Reasoning = "keep"
    settings: Mapping[str, Any] = field(default_factory=dict)
    tools: tuple[dict[str, Any], ...] = ()
    models: PlanModels = field(default_factory=PlanModels)
    watch: PlanWatch = field(default_factory=PlanWatch)
    money: PlanMoney = field(default_factory=PlanMoney)
    deadline: float | None = None

    def __post_init__(self) -> None:
        for name, least in (("max_tokens", 1), ("reserve_tokens", 0)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise SettingsError(name, value, f"a whole number, {least} or above")


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The messages to send, and the account of how they came about."""

    messages: list[BaseMessage]
    report: Report
    result: OrchestratorResult | None = None


def plan(messages: Sequence[BaseMessage], options: PlanOptions) -> Outcome:
    """Decide what the model sees of these messages.

    Returns:
        The caller's own objects wherever nothing changed; an empty list only for an empty one.

    Raises:
        BudgetError: with ``on_overflow="raise"``, if what may not be cut exceeds the budget.
    """
    sendable = [i for i, m in enumerate(messages) if not is_instruction_to_the_store(m)]
    if len(sendable) == len(messages):
        return _plan_sendable(messages, options)
    outcome = _plan_sendable([messages[i] for i in sendable], options)
    return replace(outcome, report=report_with_orders(outcome.report, sendable, len(messages)))


def drain_plans(options: PlanOptions) -> None:
    """Wait for what is done behind the plans that are made with these options."""
    _orchestrator_of(options).drain()


def _plan_sendable(messages: Sequence[BaseMessage], options: PlanOptions) -> Outcome:
    """Plan; a fault of the house lets the messages go on unchanged, and says so once."""
    orchestrator = _orchestrator_of(options)  # what is wrong with it is no fault of one plan
    try:
        limit = _limit_of(messages, options)
        options = replace(options, max_tokens=limit.tokens)
        profile = options.profile or profile_from(
            messages, model_id=options.model_id, provider=options.provider
        )
        ends = time.monotonic() + (math.inf if options.deadline is None else options.deadline)
        job = _Job(
            messages,
            planned_dicts(messages, profile),
            profile,
            options,
            lambda: time.monotonic() >= ends,
            limit,
        )
        clock = StageClock()
        if isinstance(options.token_counter, str):
            return job.told(job.run(orchestrator, options.max_tokens), clock)
        counter = CallersCounter(options.token_counter, job.messages, job.planned)
        try:
            with running(counter):
                outcome = _plan_by_callers_counter(job, orchestrator, counter)
        except Exception as error:
            if counter.fault is not error:
                raise
            outcome = _plan_without_the_counter(job, error)
        return job.told(outcome, clock)
    except BudgetError as error:
        raise limit.refusal(error) from None
    except EunoeError:
        raise
    except Exception as error:
        logger.warning("planning failed; the messages go on unchanged", exc_info=True)
        return Outcome(
            messages=list(messages),
            report=unplanned_report(len(messages), options.max_tokens, error),
        )


def _limit_of(messages: Sequence[BaseMessage], options: PlanOptions) -> PricedLimit:
    """Tokens that the plan may take: those of the options, and no more than the money buys."""
    name = priced_name(
        messages,
        model_id=options.model_id,
        model_hint=options.model_hint,
        provider=options.provider,
    )
    return options.money.limit(options.max_tokens, options.reserve_tokens, name)


def _plan_without_the_counter(job: _Job, fault: Exception) -> Outcome:
    """Plan by our own count, since the caller's counter failed; the report and the log say so."""
    said = str(fault) if isinstance(fault, EunoeError) else type(fault).__name__
    warning = f"token_counter failed ({said}): counted approximately instead"
    logger.warning("%s", warning)
    options = replace(job.options, token_counter=PlanOptions.token_counter)
    outcome = replace(job, options=options).run(_orchestrator_of(options), options.max_tokens)
    warnings = (*outcome.report.warnings, warning)
    return replace(outcome, report=replace(outcome.report, warnings=warnings))


def _plan_by_callers_counter(
    job: _Job, orchestrator: ContextOrchestrator, counter: CallersCounter
) -> Outcome:
    """Plan by a counter that need not be the sum of its parts: the result is counted again.

    Where the whole counts more than its parts, the budget of the plan is lowered by the excess,
    then by halving, until the result fits and fills most of the budget.
    """
    options = job.options
    allowed = options.max_tokens - options.reserve_tokens
    tools = sum(counter.count_text(schema_text(tool)) for tool in options.tools)
    budget = max(1, options.max_tokens + counter.framing_difference)
    low, high, needed = 0, budget + 1, 0
    best: Outcome | None = None
    for attempt in range(_ATTEMPTS):
        try:
            outcome = job.run(orchestrator, budget)
            if counter.fault is not None:
                raise counter.fault
        except BudgetError as error:
            low, needed = budget, needed or error.needed - counter.framing_difference
        else:
            taken = counter.total(outcome.messages) + tools
            if taken <= allowed or outcome.report.infeasible is not None:
                account = replace(outcome.report, tokens_after=taken, budget=options.max_tokens)
                low, best = budget, replace(outcome, report=account)
            else:
                high, needed = budget, taken
        if high - low <= max(1, high // 8 if best else 1):
            break
        lowered = budget - (needed - allowed)
        budget = lowered if attempt == 0 and low < lowered < high else (low + high) // 2
    if best is None:
        raise BudgetError(needed, allowed)
    return best


@dataclass(frozen=True)
class _Job:
    """One list to plan: messages, their form for planning, whose rules, options, time, money."""

    messages: Sequence[BaseMessage]
    planned: list[PlanDict]
    profile: str
    options: PlanOptions
    expired: Callable[[], bool]
    limit: PricedLimit

    def run(self, orchestrator: ContextOrchestrator, max_tokens: int) -> Outcome:
        options = self.options
        result = orchestrator.process_sync(
            Conversation.from_openai_messages(self.planned),
            model_id=self.model_id,
            profile=self.profile,
            tools=list(options.tools) or None,
            output_reserve=options.reserve_tokens or None,
            policy=options.policy,
            budget=TokenBudget(max_tokens=max_tokens),
            expired=self.expired,
            learn=not options.watch.looks_only,
        )
        out = write_back(self.messages, self.planned, result.placements)
        cut = result.report.cut
        if options.reasoning == "strip_before_cut" and cut is not None and cut.index:
            out, whole = without_old_reasoning(out), out
            report = self._less_what_left(result.report, whole, out)
            return Outcome(messages=out, report=report, result=result)
        return Outcome(messages=out, report=result.report, result=result)

    def _less_what_left(
        self, report: Report, whole: Sequence[BaseMessage], sent: Sequence[BaseMessage]
    ) -> Report:
        """The report without the tokens of what was taken out of messages.

        A caller's counter is asked for the whole list later.
        """
        if not isinstance(self.options.token_counter, str):
            return report
        scaled = settings_of(knobs_of(self.options.settings)).scale_by_family
        counter = named_counter(self.options.token_counter) or model_counter(self.model_id, scaled)
        changed = [(a, b) for a, b in zip(whole, sent, strict=True) if a is not b]
        left = sum_of_messages([a for a, _ in changed], counter)
        left -= sum_of_messages([b for _, b in changed], counter)
        return replace(report, tokens_after=report.tokens_after - left)

    @property
    def model_id(self) -> str | None:
        options = self.options
        return options.model_id or options.model_hint or model_name_in(self.messages)

    def told(self, outcome: Outcome, clock: StageClock) -> Outcome:
        """The outcome with its cost, once whoever watches has been told of it."""
        clock.mark("planning")
        watch, taken = self.options.watch, clock.milliseconds["planning"]
        if outcome.result is None:
            return outcome
        report = priced_report(outcome.report, outcome.result, self.limit)
        if watch.thread or watch.observer:
            report = watched_report(
                watch,
                outcome.result,
                report,
                self.planned,
                self.options.tools,
                self.model_id,
                taken,
                self.limit,
            )
        return replace(outcome, report=report)


def _orchestrator_of(options: PlanOptions) -> ContextOrchestrator:
    name = options.token_counter if isinstance(options.token_counter, str) else CALLERS_OWN
    knobs = knobs_of(options.settings)
    return _orchestrator(name, options.on_overflow, knobs, options.models)


@lru_cache(maxsize=16)
def _orchestrator(
    counter_name: str,
    on_overflow: OnOverflow,
    knobs: Knobs,
    models: PlanModels,
) -> ContextOrchestrator:
    """One orchestrator for all that plan alike, with what it remembers of contents."""
    counter = RunningCounter() if counter_name == CALLERS_OWN else named_counter(counter_name)
    return ContextOrchestrator(
        settings=settings_of(knobs),
        on_overflow=on_overflow,
        token_counter=counter,
        **models.arguments(),
    )
