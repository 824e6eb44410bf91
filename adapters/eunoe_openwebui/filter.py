"""The Open WebUI filter: `request` before every model call, `inlet` on hosts that lack it."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import Any

from eunoe.domain.cost import money_text
from eunoe.domain.errors import BudgetError
from eunoe.domain.event import RequestEvent
from eunoe.domain.log import fault_name, log_fault, logger
from eunoe.pipeline.accounts.forecasting import enter_requests
from eunoe.pipeline.accounts.observing import StageClock, request_event
from eunoe.pipeline.accounts.sent_lists import SentLists
from eunoe.pipeline.accounts.usage_book import UsageBook
from eunoe.stages.accounting.ledger import Ledger
from eunoe.stages.accounting.status_text import STATUS_SEPARATOR
from eunoe_openwebui.advisers import AdviserShelf
from eunoe_openwebui.afterwards import AfterwardsDesk
from eunoe_openwebui.fit import EngineShelf, FilterOutcome, fit_request, locked_flag_names
from eunoe_openwebui.hook import (
    FilterRequest,
    HookArguments,
    answer_name,
    chat_name,
    read_hook_arguments,
    turn_name,
)
from eunoe_openwebui.hostfacts import host_runs_request_hook
from eunoe_openwebui.ledgers import LedgerBook
from eunoe_openwebui.money import money_account, money_line
from eunoe_openwebui.observed import FilterWatch
from eunoe_openwebui.presets import resolve_valves
from eunoe_openwebui.prices import PriceShelf
from eunoe_openwebui.status import (
    pinned_number,
    recalled_number,
    shown_warning,
    source_events,
    status_alarms,
    status_event,
    status_words,
)
from eunoe_openwebui.turn import read_turn_notes, write_turn_notes
from eunoe_openwebui.usage import reported_usage
from eunoe_openwebui.valves import FilterUserValves, FilterValves, unless_none
from eunoe_openwebui.why import why_events

# After this share of the deadline the newest turns are sent unscored; the rest is for doing that.
_SCORING_SHARE = 0.6

EventEmitter = Callable[[dict[str, Any]], Awaitable[Any]]


class ChatRefusedError(Exception):
    """The request cannot fit and the operator wants it refused; the text is shown to the user."""

    def __init__(self, needed: int, allowed: int, most_usd: float = 0.0) -> None:
        more = f"; more may cost over {money_text(most_usd)}" if most_usd else ""
        super().__init__(
            f"This does not fit: the message, the system prompt and the tools take {needed:,} "
            f"tokens, {allowed:,} are allowed{more}. Shorten the message or switch tools off."
        )


class Filter:
    """Fits every request into the model's context.

    One instance serves all users at once: nothing of a request is kept on it but sums, ratios and
    fingerprints, by chat or model, and a chat's last system prompt. Late, the newest turns are
    sent; whatever else goes wrong, the chat goes through as it came. The status line says so.

    A subclass with ``toggle = True`` becomes a switch that users turn on in each chat.
    """

    Valves = FilterValves
    UserValves = FilterUserValves

    def __init__(self) -> None:
        self.valves = FilterValves()
        self._shelf = EngineShelf()
        self._views = SentLists()
        self._usage = UsageBook()
        self._ledgers = LedgerBook()
        self._advisers = AdviserShelf()
        self._desk = AfterwardsDesk()
        self._prices = PriceShelf()
        self._watch = FilterWatch()

    async def request(
        self,
        body: dict[str, Any],
        __user__: dict[str, Any] | None = None,
        __metadata__: dict[str, Any] | None = None,
        __model__: dict[str, Any] | None = None,
        __request__: Any = None,
        __event_emitter__: EventEmitter | None = None,
    ) -> dict[str, Any]:
        """Before every model call, tools and documents included.

        Raises:
            ChatRefusedError: it cannot fit and the valve "If a message is too long" is "refuse".
        """
        given = HookArguments(body, __user__, __metadata__, __model__, __request__)
        return await self._run(given, __event_emitter__)

    async def inlet(
        self,
        body: dict[str, Any],
        __user__: dict[str, Any] | None = None,
        __metadata__: dict[str, Any] | None = None,
        __model__: dict[str, Any] | None = None,
        __request__: Any = None,
        __event_emitter__: EventEmitter | None = None,
    ) -> dict[str, Any]:
        """Once a question; does the work only where the host has no `request` hook.

        Raises:
            ChatRefusedError: it cannot fit and the valve "If a message is too long" is "refuse".
        """
        if host_runs_request_hook():
            return body
        given = HookArguments(body, __user__, __metadata__, __model__, __request__)
        return await self._run(given, __event_emitter__)

    async def outlet(
        self,
        body: dict[str, Any],
        __metadata__: dict[str, Any] | None = None,
        __event_emitter__: EventEmitter | None = None,
    ) -> dict[str, Any]:
        """After the answer: enter the turn in the ledger, learn from what was reported, show it.

        What models are asked beside the words, they are asked now, in the background.
        """
        self._desk.answered(turn_name(__metadata__))
        try:
            notes, usage = read_turn_notes(__metadata__), reported_usage(body)
            model_id = notes.model or str(body.get("model") or "")
            share, chat = self._usage.cache_share(model_id), notes.chat
            repeats = notes.forecasts if chat else ()  # what a program repeats is not known
            turn = self._usage.learn(model_id, notes.counted, repeats, usage)
            valves = resolve_valves(self.valves, model_id)
            entry = enter_requests(
                notes.forecasts,
                model_id=notes.priced,
                usage=usage,
                prices=self._prices.prices(valves),
                hit_share=share,
            )
            self._watch.answered(valves, answer_name(__metadata__), entry)
            ledger = await self._enter(chat, entry, valves)
            if turn is not None and notes.allowed:
                sizes = money_line(
                    entry, ledger, allowed=notes.allowed, recalled=notes.shown_recalled, turn=turn
                )
                await _emit_event(__event_emitter__, status_event(sizes, notes.shown))
        except Exception as error:
            logger.warning("eunoe could not read the usage: %s", type(error).__name__)
        return body

    async def _enter(self, chat: str, entry: Ledger, valves: FilterValves) -> Ledger:
        """The ledger of the chat with a turn entered; a file or a server is spoken to in a thread.

        A turn that the user stops, or that the provider refuses, never gets here: the host tells
        nothing of it.
        """
        file, url = unless_none(valves.ledger_file), unless_none(valves.redis_url)
        if not entry.total.sent.requests:
            return self._ledgers.of(chat)
        if not file and not url:
            return self._ledgers.add(chat, entry)
        return await asyncio.to_thread(self._ledgers.add, chat, entry, file=file, url=url)

    async def _run(self, given: HookArguments, emitter: EventEmitter | None) -> dict[str, Any]:
        """The body with the chosen messages; untouched after any fault of ours."""
        valves, late = self.valves, threading.Event()
        try:
            request = await read_hook_arguments(given)
            if request is None:
                return given.body
            valves = resolve_valves(valves, str(given.body.get("model") or ""))
            seconds = valves.deadline_seconds
            timer = asyncio.get_running_loop().call_later(seconds * _SCORING_SHARE, late.set)
            try:
                work = asyncio.to_thread(self._work, request, valves, late)
                outcome, events = await asyncio.wait_for(work, seconds)
            finally:
                timer.cancel()
                late.set()  # whatever still runs ends soon
            given.body["messages"] = outcome.messages
            write_turn_notes(given.metadata, outcome.notes)
            for event in events:
                await _emit_event(emitter, event)
        except BudgetError as error:
            self._tell_failed(given, valves, f"it was refused: {error}")
            raise ChatRefusedError(error.needed, error.allowed, error.most_usd) from None
        except Exception as error:
            what = await _report_failure(error, valves, emitter)
            self._tell_failed(given, valves, f"it went through as it came: {what}")
        return given.body

    def _work(
        self, request: FilterRequest, valves: FilterValves, late: threading.Event
    ) -> tuple[FilterOutcome, list[dict[str, Any]]]:
        """The choice, and what to show of it; runs in a thread."""
        model_id = str(request.body.get("model") or "")
        factor, share = self._usage.factor(model_id), self._usage.cache_share(model_id)
        advisers = self._advisers.advisers(valves, request.embedding, request.loop)
        clock = StageClock() if self._watch.observer(valves) is not None else None
        fit = partial(fit_request, prices=self._prices.prices(valves), hit_share=share)
        outcome = fit(
            request, valves, self._shelf, self._views, factor, late.is_set, advisers, clock
        )
        if outcome.afterwards is not None:
            # a later step of a turn no longer has what its first step left out
            self._desk.note(request.turn, outcome.afterwards, first=not request.earlier.counted)
        if clock is not None:
            self._tell(request, valves, outcome, clock.milliseconds)
        try:
            return self._shown(request, valves, outcome, factor)
        except Exception as error:  # what was chosen is sent all the same
            logger.warning("eunoe could not tell what it did: %s", type(error).__name__)
            return outcome, []

    def _tell_failed(self, given: HookArguments, valves: FilterValves, said: str) -> None:
        chat = chat_name(given.metadata, given.body.get("messages"))
        self._watch.failed(valves, said, str(given.body.get("model") or ""), chat)

    def _tell(
        self, request: FilterRequest, valves: FilterValves, outcome: FilterOutcome, times: Any
    ) -> None:
        """Tell the observer; ``times`` are the milliseconds of each stage."""
        model_id = str(request.body.get("model") or "")

        def event(key: str, source: str) -> RequestEvent:
            forecast, prices = outcome.notes.forecasts[-1], self._prices.prices(valves)
            return request_event(
                outcome.result,
                outcome.report,
                outcome.read,
                prices,
                model_id,
                request.chat,
                times,
                forecast=forecast,
                ledger=enter_requests(
                    [forecast],
                    model_id=outcome.notes.priced,
                    prices=prices,
                    hit_share=self._usage.cache_share(model_id),
                ),
                key=key,
                source=source,
            )

        self._watch.chosen(valves, request.answer, event)

    def _shown(
        self, request: FilterRequest, valves: FilterValves, outcome: FilterOutcome, factor: float
    ) -> tuple[FilterOutcome, list[dict[str, Any]]]:
        """The events of a request, and its outcome with what they said noted."""
        model_id = str(request.body.get("model") or "")
        report, messages, earlier = outcome.report, outcome.read, request.earlier
        locked = locked_flag_names(valves.locked_flags)
        account = partial(
            enter_requests,
            model_id=outcome.notes.priced,
            prices=self._prices.prices(valves),
            hit_share=self._usage.cache_share(model_id),
        )
        chat = self._ledgers.of(request.chat) + account(outcome.notes.forecasts)
        events = source_events(report, messages) if valves.show_sources else []
        if valves.read_flags and not earlier.counted:  # once a turn, not at each tool step
            events += why_events(report, messages, locked, money_account(chat))
        if not (valves.show_status and request.user.show_status):
            return outcome, events
        allowed, recalled = outcome.allowed, recalled_number(report, earlier)
        newest = account(outcome.notes.forecasts[-1:])
        sizes = money_line(newest, chat, allowed=allowed, recalled=recalled)
        pinned = pinned_number(messages, locked) if valves.read_flags else 0
        pieces = (
            status_alarms(report, allowed=allowed),
            shown_warning(report, messages),
            status_words(report, earlier, factor=factor, pinned=pinned),
        )
        shown = STATUS_SEPARATOR.join(piece for piece in pieces if piece)
        notes = replace(outcome.notes, allowed=allowed, shown=shown, shown_recalled=recalled)
        return replace(outcome, notes=notes), [status_event(sizes, shown), *events]


async def _report_failure(
    error: Exception, valves: FilterValves, emitter: EventEmitter | None
) -> str:
    """One line in the log, one above the answer; no text of the chat in either -> what happened."""
    what = fault_name(error)
    if isinstance(error, TimeoutError):
        what = f"took over {valves.deadline_seconds:g} s"
    log_fault(error, "the chat goes through unchanged", what)
    if valves.show_status:
        await _emit_event(emitter, status_event(f"eunoe {what}: sent as it is"))
    return what


async def _emit_event(emitter: EventEmitter | None, event: dict[str, Any]) -> None:
    """Show something, if somebody listens; a listener that fails is no reason to stop."""
    if emitter is not None:
        with contextlib.suppress(Exception):
            await emitter(event)
