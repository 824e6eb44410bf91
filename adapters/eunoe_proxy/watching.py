"""Telling an observer of the requests of the proxy, beside them: when chosen, and when answered."""

from __future__ import annotations

import asyncio
import threading
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from eunoe.domain.errors import BudgetError
from eunoe.domain.event import RequestEvent
from eunoe.domain.ports import Observer
from eunoe.domain.report import Report
from eunoe.pipeline.accounts.observing import failed_event, faults_of_observer, request_event
from eunoe.pipeline.result import OrchestratorResult
from eunoe.stages.accounting.forecast import RequestForecast
from eunoe.stages.accounting.ledger import Ledger
from eunoe.stages.accounting.price import PriceLookup
from eunoe_proxy.passing import Passage

TELLING_PAUSE = 0.05
"""Seconds: making an event takes time of the interpreter that the request on its way needs."""
_SOURCE = "proxy"


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedRequest:
    """What is known of a request once its messages are chosen.

    Attributes:
        result: of the pipeline.
        given: its messages.
        report: of the pipeline, with what is known of the cache.
        forecast: in the provider's tokens.
        model, session: of the request.
        milliseconds: that each stage took.
        key: names it.
        over: its answer has been told of.
    """

    result: OrchestratorResult
    given: Sequence[Mapping[str, Any]]
    report: Report
    forecast: RequestForecast
    model: str
    session: str
    milliseconds: Mapping[str, float]
    key: str = field(default_factory=lambda: uuid.uuid4().hex)
    over: threading.Event = field(default_factory=threading.Event)


class ProxyWatch:
    """Tells an observer; what goes wrong is logged and goes no further. Safe across threads.

    Args:
        observer: is told.
    """

    def __init__(self, observer: Observer, prices: PriceLookup) -> None:
        self._observer, self._prices = observer, prices
        self._telling = threading.Lock()

    def chosen_soon(
        self,
        behind: Callable[[Callable[[], None]], object],
        request: WatchedRequest | None,
        why: str,
    ) -> None:
        """``chosen`` a moment later, once the request is on its way to the server.

        Args:
            behind: does some work in a thread.
            request, why: of ``chosen``.
        """
        tell = partial(self.chosen, request, why)
        asyncio.get_running_loop().call_later(TELLING_PAUSE, behind, tell)

    def chosen(self, request: WatchedRequest | None, why: str = "") -> None:
        """The list to send is chosen.

        Args:
            request: None for one that goes through as it came.
            why: it was not looked at to the end; empty if there was nothing to look at.
        """
        if request is not None:
            if not request.over.is_set():
                self._tell(request)
        elif why:
            said = f"it went through as it came: {why.replace('_', ' ')}"
            self._hand_over(failed_event(said, "", "", _SOURCE))

    def refused(self, error: BudgetError) -> None:
        """A request cannot fit, and the operator wants that refused."""
        self._hand_over(failed_event(f"it was refused: {error}", "", "", _SOURCE))

    def answered(
        self, request: WatchedRequest | None, passage: Passage, entry: Ledger | None = None
    ) -> None:
        """The request is over.

        Args:
            request: as it was chosen; of one that went through as it came all is told.
            passage: how it went.
            entry: of its ledger; None where the server gave no answer.
        """
        if request is None:
            return
        said = ""
        if passage.failure:
            said = f"the server gave no answer: {passage.failure}"
        elif not 200 <= passage.status < 300 and passage.status:
            said = f"the server refused it: status {passage.status}"
        elif passage.left:
            said = "the caller left before the end"
        entry = Ledger() if entry is None else entry
        self._tell(request, seconds=passage.seconds, entry=entry, said=said)

    def _tell(
        self,
        request: WatchedRequest,
        *,
        seconds: float | None = None,
        entry: Ledger | None = None,
        said: str = "",
    ) -> None:
        times = dict(request.milliseconds)
        if seconds is not None:
            times["answer"] = 1000 * seconds
        report = request.report
        if said:
            report = replace(report, warnings=(*report.warnings, said))
        with faults_of_observer():
            event = request_event(
                request.result,
                report,
                request.given,
                self._prices,
                request.model,
                request.session,
                times,
                forecast=request.forecast,
                ledger=entry,
                key=request.key,
                source=_SOURCE,
            )
            with self._telling:  # the two may be told in different threads, the answer first
                if seconds is not None:
                    request.over.set()
                elif request.over.is_set():
                    return
                self._hand_over(event)

    def _hand_over(self, event: RequestEvent) -> None:
        with faults_of_observer():
            self._observer.observe(event)
