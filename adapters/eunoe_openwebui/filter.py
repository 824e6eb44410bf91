"""The Open WebUI filter: `request` before every model call, `inlet` on hosts that lack it."""

from __future__ import annotations

import asyncio
import contextlib
import traceback
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from eunoe.domain.errors import BudgetError
from eunoe.domain.log import logger
from eunoe_openwebui.fit import EngineShelf, FilterOutcome, fit_request, locked_flag_names
from eunoe_openwebui.hook import FilterRequest, HookArguments, read_hook_arguments
from eunoe_openwebui.hostfacts import host_runs_request_hook
from eunoe_openwebui.lastview import ViewMemory
from eunoe_openwebui.status import (
    measured_line,
    newest_warning,
    source_events,
    status_event,
    status_line,
    status_words,
)
from eunoe_openwebui.turn import read_turn_notes, write_turn_notes
from eunoe_openwebui.usage import UsageBook, measure_turn, reported_usage
from eunoe_openwebui.valves import FilterUserValves, FilterValves, resolve_valves
from eunoe_openwebui.why import why_events
from eunoe_openwebui.window import base_model_id

_FRAMES_LOGGED = 4

EventEmitter = Callable[[dict[str, Any]], Awaitable[Any]]


class ChatRefusedError(Exception):
    """The request cannot fit and the operator wants it refused; the text is shown to the user."""

    def __init__(self, needed: int, allowed: int) -> None:
        super().__init__(
            f"This does not fit: the message, the system prompt and the tools take {needed:,} "
            f"tokens, {allowed:,} are allowed. Shorten the message or switch tools off."
        )


class Filter:
    """Fits every request into the model's context.

    One instance serves all users at once: nothing of a request is kept on it. Whatever goes wrong,
    the chat goes through as it came and the status line says so.
    """

    Valves = FilterValves
    UserValves = FilterUserValves

    def __init__(self) -> None:
        self.valves = FilterValves()
        self._shelf = EngineShelf()
        self._views = ViewMemory()
        self._usage = UsageBook()

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
            ChatRefusedError: it cannot fit and the valve "If it cannot fit" is "refuse".
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
            ChatRefusedError: it cannot fit and the valve "If it cannot fit" is "refuse".
        """
        if host_runs_request_hook():
            return body
        given = HookArguments(body, __user__, __metadata__, __model__, __request__)
        return await self._run(given, __event_emitter__)

    async def outlet(
        self,
        body: dict[str, Any],
        __metadata__: dict[str, Any] | None = None,
        __model__: dict[str, Any] | None = None,
        __event_emitter__: EventEmitter | None = None,
    ) -> dict[str, Any]:
        """After the answer: learn from the usage that the provider reported, and show it."""
        try:
            notes, usage = read_turn_notes(__metadata__), reported_usage(body)
            model_id = str(body.get("model") or "")
            self._usage.learn(model_id, notes.counted, usage)
            turn = measure_turn(usage, base_model_id(__model__ or {}) or model_id)
            if turn is not None and notes.allowed:
                line = status_event(measured_line(turn, notes.allowed), notes.shown)
                await _emit_event(__event_emitter__, line)
        except Exception as error:
            logger.warning("eunoe could not read the usage: %s", type(error).__name__)
        return body

    async def _run(self, given: HookArguments, emitter: EventEmitter | None) -> dict[str, Any]:
        """The body with the chosen messages; untouched after any fault of ours."""
        valves = self.valves
        try:
            request = await read_hook_arguments(given)
            if request is None:
                return given.body
            valves = resolve_valves(valves, str(given.body.get("model") or ""))
            work = asyncio.to_thread(self._work, request, valves)
            outcome, events = await asyncio.wait_for(work, valves.deadline_seconds)
            given.body["messages"] = outcome.messages
            write_turn_notes(given.metadata, outcome.notes)
            for event in events:
                await _emit_event(emitter, event)
        except BudgetError as error:
            raise ChatRefusedError(error.needed, error.allowed) from None
        except Exception as error:
            await _report_failure(error, valves, emitter)
        return given.body

    def _work(
        self, request: FilterRequest, valves: FilterValves
    ) -> tuple[FilterOutcome, list[dict[str, Any]]]:
        """The choice, and what to show of it; runs in a thread."""
        factor = self._usage.factor(str(request.body.get("model") or ""))
        outcome = fit_request(request, valves, self._shelf, factor)
        report, messages = outcome.report, request.body["messages"]
        unchanged = self._views.unchanged_tokens(request.chat, outcome.parts)
        events = source_events(report, messages) if valves.show_sources else []
        if valves.read_flags:
            events += why_events(report, messages, locked_flag_names(valves.locked_flags))
        if not (valves.show_status and request.user.show_status):
            return outcome, events
        warning = newest_warning(report, messages)
        words = status_words(report, request.earlier, outcome.allowed, warning)
        sizes = status_line(report, sent=outcome.sent, allowed=outcome.allowed, unchanged=unchanged)
        notes = replace(outcome.notes, allowed=outcome.allowed, shown=words)
        return replace(outcome, notes=notes), [status_event(sizes, words), *events]


async def _report_failure(
    error: Exception, valves: FilterValves, emitter: EventEmitter | None
) -> None:
    """One line in the log, one above the answer; no text of the chat in either.

    The error's own words and values are left out of the log: they may quote a message.
    """
    what = f"failed ({type(error).__name__})"
    if isinstance(error, TimeoutError):
        what = f"took over {valves.deadline_seconds:g} s"
    frames = reversed(traceback.extract_tb(error.__traceback__)[-_FRAMES_LOGGED:])
    where = ", ".join(f"{frame.name}:{frame.lineno}" for frame in frames)
    logger.warning("eunoe %s in %s; the chat goes through unchanged", what, where)
    if valves.show_status:
        await _emit_event(emitter, status_event(f"eunoe {what}: sent as it is"))


async def _emit_event(emitter: EventEmitter | None, event: dict[str, Any]) -> None:
    """Show something, if somebody listens; a listener that fails is no reason to stop."""
    if emitter is not None:
        with contextlib.suppress(Exception):
            await emitter(event)
