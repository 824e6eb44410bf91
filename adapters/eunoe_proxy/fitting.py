"""One body in, the body to send out: chosen off the event loop, within a deadline."""

from __future__ import annotations

import asyncio
import json
import os
import threading
import time
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

from eunoe.domain.budget import CompositeBudget, CostBudget, TokenBudget
from eunoe.domain.conversation import Conversation
from eunoe.domain.errors import BudgetError, ConversationError
from eunoe.domain.log import log_fault, logger
from eunoe.domain.ports import Embedder, EntityExtractor, Summarizer
from eunoe.domain.report import Report
from eunoe.domain.settings import Settings
from eunoe.pipeline.accounts.observing import StageClock
from eunoe.pipeline.accounts.sent_lists import SentLists, sent_list
from eunoe.pipeline.accounts.usage_book import UsageBook
from eunoe.pipeline.orchestrator import ContextOrchestrator
from eunoe.pipeline.result import OrchestratorResult
from eunoe.stages.accounting.forecast import RequestForecast, provider_forecast
from eunoe.stages.accounting.price import PriceLookup
from eunoe.stages.accounting.priced_limit import PricedLimit, allowed_by_price
from eunoe.stages.accounting.request_cost import estimated_cost
from eunoe.wire.model_window import (
    input_room,
    named_window,
    output_reserve_of,
    requested_window,
)
from eunoe.wire.sent_schemas import sent_schemas
from eunoe_proxy.body import ChatBody, read_chat_body
from eunoe_proxy.headers import report_figures, untouched_figures
from eunoe_proxy.settings import ProxySettings
from eunoe_proxy.watching import WatchedRequest
from eunoe_proxy.wishes import Wishes, session_of

# After this share of the deadline the newest messages are sent unscored; the rest is for that.
_SCORING_SHARE = 0.6
_WARM_TURNS, _WARM_TOKENS = 40, 200
_WORKERS = min(8, (os.cpu_count() or 1) + 2)
_ON_OVERFLOW: dict[str, Any] = {"truncate": "truncate", "keep": "keep", "refuse": "raise"}

WindowFinder = Callable[[str], Awaitable[int]]

NOT_A_CHAT, DEADLINE, TOO_LARGE, FAULT = "not a chat", "deadline", "too large", "fault"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """What to send, and the account of it.

    Attributes:
        body: to send; the very bytes that came, wherever nothing had to change.
        why: why it goes through as it came, where it was not looked at to the end; else empty.
        report: of the pipeline; None if it goes through as it came.
        forecast: in the provider's tokens; None without a report.
        model: that is asked.
        session: whose request.
        figures: of the account, by name.
        seconds: that choosing took.
        watched: for an observer; None where nobody observes.
    """

    body: bytes
    why: str = ""
    report: Report | None = None
    forecast: RequestForecast | None = None
    model: str = ""
    session: str = ""
    figures: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    watched: WatchedRequest | None = None


class ChatFitter:
    """Fits bodies. One serves all callers: what it remembers are facts by content, and ratios.

    Args:
        settings: of the operator.
        book: how far counts are off, by model.
        prices: of models.
        embedder: lets meaning count beside words; None for words alone.
        summarizer: sums up what a cut leaves out; None for no summaries.
        extractor: finds names beside our own; None for none.
        watched: somebody observes.
    """

    def __init__(
        self,
        settings: ProxySettings,
        book: UsageBook,
        prices: PriceLookup,
        embedder: Embedder | None = None,
        summarizer: Summarizer | None = None,
        extractor: EntityExtractor | None = None,
        *,
        watched: bool = False,
    ) -> None:
        self._settings, self._book, self._watched = settings, book, watched
        self._prices = prices
        self._orchestrator = ContextOrchestrator(
            settings=Settings(read_flags=settings.read_flags, scale_by_family=True),
            on_overflow=_ON_OVERFLOW[settings.on_overflow],
            embedder=embedder,
            embed_timeout=min(0.5, 0.3 * settings.deadline),
            summarizer=summarizer,
            entity_extractor=extractor,
            structure_timeout=min(1.0, 0.3 * settings.deadline),
        )
        self._lists = SentLists()
        self.workers = ThreadPoolExecutor(_WORKERS, thread_name_prefix="eunoe-proxy")

    async def fit(self, data: bytes, wishes: Wishes, window_of: WindowFinder) -> Fitted:
        """Choose what is sent; any fault of ours sends the body as it came.

        Args:
            data: the body.
            wishes: of the caller.
            window_of: tells the window of a model, as its server lists it; 0 if it does not.

        Raises:
            BudgetError: it cannot fit and the operator wants that refused.
        """
        late = threading.Event()
        seconds = self._settings.deadline
        timer = asyncio.get_running_loop().call_later(seconds * _SCORING_SHARE, late.set)
        try:
            return await asyncio.wait_for(self._fit(data, wishes, window_of, late), seconds)
        except BudgetError:
            raise
        except ConversationError:
            return untouched(data, NOT_A_CHAT)
        except TimeoutError:
            logger.warning("eunoe took over %g s; the request goes through unchanged", seconds)
            return untouched(data, DEADLINE)
        except Exception as error:
            log_fault(error, "the request goes through unchanged")
            return untouched(data, FAULT)
        finally:
            timer.cancel()
            late.set()  # whatever still runs ends soon

    async def warm_up(self) -> None:
        """Load what the first request would else wait for, such as the tokenizer."""
        turns = [{"role": "user", "content": f"question {i}"} for i in range(_WARM_TURNS)]
        data = json.dumps({"messages": turns}).encode()

        async def unknown(model: str) -> int:
            return 0

        try:
            await self._fit(data, Wishes(max_tokens=_WARM_TOKENS), unknown, threading.Event())
        except Exception as error:  # the first request finds out by itself
            log_fault(error, "so may the first request")

    def _followed(
        self, body: ChatBody, wishes: Wishes, result: OrchestratorResult
    ) -> tuple[Report, RequestForecast]:
        """Report and forecast, with what the request before in its session says of the cache."""
        report, forecast = result.report, result.forecast
        if not wishes.session:
            return report, forecast
        now = sent_list(
            body.messages,
            result.placements,
            report.decisions.sizes,
            tools=sent_schemas(body.values),
            tool_tokens=report.tool_tokens,
        )
        chat = f"{wishes.caller}/{wishes.session}"  # the same name of another caller is another one
        outlook = self._lists.follow(chat, now, model_id=body.model)
        if outlook.bust is not None:
            report = replace(report, cache_lost=outlook.bust.describe())
        forecast = forecast.with_repeated(outlook.repeated or 0)
        return report, forecast.with_unchanged(outlook.unchanged)

    def _priced(
        self, report: Report, forecast: RequestForecast, model: str, priced: PricedLimit
    ) -> Report:
        """The report with the cost by what is known here of prices and of the cache."""
        costing = estimated_cost(
            lambda: forecast,
            self._prices,
            model,
            hit_share=self._book.cache_share(model),
            most_usd=priced.usd,
        )
        return replace(report, costing=costing, warnings=(*report.warnings, *priced.notes))

    def close(self) -> None:
        """End the threads; what waits in them is dropped."""
        self.workers.shutdown(wait=False, cancel_futures=True)

    async def _fit(
        self, data: bytes, wishes: Wishes, window_of: WindowFinder, late: threading.Event
    ) -> Fitted:
        loop = asyncio.get_running_loop()
        body = await loop.run_in_executor(self.workers, read_chat_body, data)
        if body is None:
            return untouched(data, NOT_A_CHAT)
        window = self._settings.context_window or requested_window(body.values)
        if not window and body.model:
            window = await window_of(body.model) or named_window(body.model)
        return await loop.run_in_executor(self.workers, self._choose, body, window, wishes, late)

    def _choose(self, body: ChatBody, window: int, wishes: Wishes, late: threading.Event) -> Fitted:
        """The choice; runs in a thread."""
        began, clock = time.perf_counter(), StageClock() if self._watched else None
        model = body.model
        factor = self._book.factor(model)
        allowed = allowed_tokens(body, self._settings, window, wishes.max_tokens)
        budget = CompositeBudget(TokenBudget(allowed), CostBudget(self._settings.max_cost_usd))
        priced = allowed_by_price(budget, self._prices, model or None)
        session = wishes.session or session_of(body.messages)
        conversation = Conversation.from_openai_messages(body.messages)
        try:
            result = self._orchestrator.process_sync(
                conversation,
                model_id=model or None,
                profile=self._settings.profile,
                tools=sent_schemas(body.values) or None,
                session_id=session,
                policy=wishes.policy or self._settings.policy,
                budget=TokenBudget(max(1, int(priced.tokens / factor)) if priced.tokens else 0),
                expired=late.is_set,
                clock=clock,
            )
        except BudgetError as error:
            raise priced.refusal(error) from None
        same = result.conversation is conversation
        sent = body.written(None if same else result.placements, ask_usage=self._settings.ask_usage)
        report, forecast = self._followed(body, wishes, result)
        forecast = provider_forecast(forecast, 0, factor, window)
        report = self._priced(report, forecast, model, priced)
        seconds = time.perf_counter() - began
        watched = None
        if clock is not None:
            clock.mark("writing")
            watched = WatchedRequest(
                result=result,
                given=body.messages,
                report=report,
                forecast=forecast,
                model=model,
                session=session,
                milliseconds=clock.milliseconds,
            )
        return Fitted(
            body=sent,
            report=report,
            forecast=forecast,
            model=model,
            session=session,
            figures=report_figures(report, changed=not same),
            seconds=seconds,
            watched=watched,
        )


def untouched(data: bytes, why: str) -> Fitted:
    """A body that goes through as it came."""
    return Fitted(body=data, why=why, figures=untouched_figures(why))


def allowed_tokens(body: ChatBody, settings: ProxySettings, window: int, wished: int = 0) -> int:
    """Tokens that messages and tools may take; 0 for no limit. The request names the answer's room.

    Args:
        body: of the request.
        settings: of the operator.
        window: of the model; 0 if unknown.
        wished: a cap of the caller; 0 for none.
    """
    caps = (settings.max_tokens, wished)
    return input_room(caps, window, settings.context_share, output_reserve_of(body.values))
