"""Telling the page that a valve names of each request, and of what its answer was reported as."""

from __future__ import annotations

import threading
import uuid
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace

from eunoe.domain.event import RequestEvent
from eunoe.domain.log import logger
from eunoe.domain.ports import Observer
from eunoe.pipeline.accounts.observing import failed_event, faults_of_observer
from eunoe.stages.accounting.ledger import Ledger
from eunoe_backends.remote_observer import RemoteObserver
from eunoe_openwebui.valves import FilterValves, unless_none

OBSERVED_SOURCE = "Open WebUI"
_TURNS_OBSERVED = 64
_STEPS_OBSERVED = 32


class FilterWatch:
    """Tells an observer, or does nothing. Safe across threads; never raises, never waits.

    Events of a turn are kept until it is answered: then its newest request tells of the ledger of
    the turn, those before it of none. Bounded: turns that are never answered are forgotten.

    Args:
        make: the observer for an address.
    """

    def __init__(self, make: Callable[[str], Observer] = RemoteObserver) -> None:
        self._make = make
        self._url = ""
        self._observer: Observer | None = None
        self._turns: OrderedDict[str, list[RequestEvent]] = OrderedDict()
        self._lock = threading.Lock()

    def observer(self, valves: FilterValves) -> Observer | None:
        """Who is told under these valves; None for nobody."""
        url = unless_none(valves.observer_url)
        with self._lock:
            if url != self._url:
                self._url, self._observer = url, None
                try:
                    self._observer = self._make(url) if url else None
                except Exception as error:
                    logger.warning("the observer's address is not used: %s", type(error).__name__)
            return self._observer

    def chosen(
        self, valves: FilterValves, turn: str, event: Callable[[str, str], RequestEvent]
    ) -> None:
        """A request is chosen.

        Args:
            turn: names the turn and its answer.
            event: makes the event of a key and a source; only called if somebody is told.
        """
        observer = self.observer(valves)
        if observer is None:
            return
        with faults_of_observer():
            made = event(uuid.uuid4().hex, OBSERVED_SOURCE)
            observer.observe(made)
            with self._lock:
                steps = self._turns.pop(turn, [])
                self._turns[turn] = [*steps[1 - _STEPS_OBSERVED :], made]
                if len(self._turns) > _TURNS_OBSERVED:
                    self._turns.popitem(last=False)

    def answered(self, valves: FilterValves, turn: str, entry: Ledger) -> None:
        """A turn is answered; ``entry`` is its ledger."""
        with self._lock:
            steps = self._turns.pop(turn, [])
        observer = self.observer(valves)
        if observer is None or not steps or not entry.total.sent.requests:
            return
        with faults_of_observer():
            for step in steps[:-1]:
                observer.observe(replace(step, ledger={}))
            observer.observe(replace(steps[-1], ledger=entry.flat()))

    def failed(self, valves: FilterValves, said: str, model_id: str, chat: str) -> None:
        """A request got no report; ``said`` is what became of it, without text of the chat."""
        observer = self.observer(valves)
        if observer is not None:
            with faults_of_observer():
                observer.observe(failed_event(said, model_id, chat, OBSERVED_SOURCE))
