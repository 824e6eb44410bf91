"""The Open WebUI filter: `request` before every model call, `inlet` on hosts that lack it."""

from __future__ import annotations

import asyncio
import contextlib
import traceback
from collections.abc import Awaitable, Callable
from typing import Any

from eunoe.domain.errors import BudgetError
from eunoe.domain.log import logger
from eunoe_openwebui.fit import EngineShelf, FilterOutcome, fit_request, locked_flag_names
from eunoe_openwebui.hook import FilterRequest, HookArguments, read_hook_arguments
from eunoe_openwebui.hostfacts import host_runs_request_hook
from eunoe_openwebui.lastview import ViewMemory
from eunoe_openwebui.status import newest_warning, source_events, status_event, status_line
from eunoe_openwebui.turn import read_turn_notes, write_turn_notes
from eunoe_openwebui.usage import UsageBook, reported_usage
from eunoe_openwebui.valves import FilterUserValves, FilterValves, resolve_valves
from eunoe_openwebui.why import why_events

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
        self, body: dict[str, Any], __metadata__: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """After the answer: learn from the usage that the provider reported, if it did."""
        try:
            counted = read_turn_notes(__metadata__).counted
            self._usage.learn(str(body.get("model") or ""), counted, reported_usage(body))
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
            outcome, line = await asyncio.wait_for(work, valves.deadline_seconds)
            before, given.body["messages"] = given.body["messages"], outcome.messages
            write_turn_notes(given.metadata, outcome.notes)
            locked = locked_flag_names(valves.locked_flags)
            events = why_events(outcome.report, before, locked) if valves.read_flags else []
            if valves.show_sources:
                events = [*source_events(outcome.report, before), *events]
            if valves.show_status and request.user.show_status:
                events = [status_event(line), *events]
            for event in events:
                await _emit_event(emitter, event)
        except BudgetError as error:
            raise ChatRefusedError(error.needed, error.allowed) from None
        except Exception as error:
            await _report_failure(error, valves, emitter)
        return given.body

    def _work(self, request: FilterRequest, valves: FilterValves) -> tuple[FilterOutcome, str]:
        """The choice and its status line; runs in a thread."""
        factor = self._usage.factor(str(request.body.get("model") or ""))
        outcome = fit_request(request, valves, self._shelf, factor)
        line = status_line(
            outcome.report,
            request.earlier,
            sent=outcome.sent,
            allowed=outcome.allowed,
            unchanged=self._views.unchanged_tokens(request.chat, outcome.parts),
            warning=newest_warning(outcome.report, request.body["messages"]),
        )
        return outcome, line


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
