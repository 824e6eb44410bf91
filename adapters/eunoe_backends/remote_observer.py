"""Sending events to the page of `eunoe observe`, behind the requests; what cannot be sent is lost.

from eunoe_backends import RemoteObserver

optimizer = HistoryOptimizer(max_tokens=8000, observer=RemoteObserver("http://127.0.0.1:8788"))
"""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Callable
from urllib.parse import SplitResult, urlsplit

from eunoe.domain.errors import SettingsError
from eunoe.domain.event import RequestEvent
from eunoe.domain.log import logger
from eunoe_backends.event_queue import EventQueue
from eunoe_backends.event_record import event_record

OBSERVER_WAITS = (5.0, 30.0, 120.0)
"""Seconds without a try after the first failure, the second, and all further ones."""
_EVENTS_WAITING = 64
_EVENTS_AT_A_TIME = 16
_BYTES_AT_A_TIME = 2_000_000
_ANSWER_SECONDS = 3.0


class RemoteObserver:
    """An ``Observer`` that hands events to a thread of its own and returns at once.

    Nothing that the page does or fails to do reaches a request: events wait in a short queue, of a
    full one the oldest are lost, and a page that does not answer is left alone for a while. Safe
    across threads, and for any number of engines.

    Args:
        url: of the page, such as ``http://127.0.0.1:8788``.
        clock: seconds, rising.

    Raises:
        SettingsError: the address is no http(s) address, or holds a user, query or fragment.
    """

    def __init__(self, url: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._address = _observer_address(url)
        self._clock = clock
        self._failures, self._silent_until = 0, -float("inf")
        self._unsent = 0
        self._queue: EventQueue[RequestEvent] = EventQueue(
            self._send_all, most=_EVENTS_WAITING, at_a_time=_EVENTS_AT_A_TIME, name="eunoe-observer"
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._address.netloc})"

    @property
    def lost(self) -> int:
        """Events that were not sent."""
        return self._queue.lost + self._unsent

    def observe(self, event: RequestEvent) -> None:
        """Have a request told of; never waits."""
        self._queue.put(event)

    def drain(self, seconds: float = 5.0) -> bool:
        """Wait until all is sent or given up, as a script does before it ends.

        Returns:
            Whether nothing waits any more.
        """
        return self._queue.drain(seconds)

    def _send_all(self, events: list[RequestEvent]) -> None:
        """Send events in as many pieces as their size asks for."""
        held: list[str] = []
        for event in events:
            if self._clock() < self._silent_until:
                self._unsent += 1
                continue
            try:
                held.append(json.dumps(event_record(event)))
            except Exception as error:
                self._unsent += 1
                logger.warning("an event cannot be told: %s", type(error).__name__)
            if sum(map(len, held)) > _BYTES_AT_A_TIME:
                self._send(held)
                held = []
        if held:
            self._send(held)

    def _send(self, records: list[str]) -> None:
        problem = ""
        try:
            status = self._post(f"[{','.join(records)}]".encode())
            problem = "" if status == 204 else f"status {status}"
        except (OSError, http.client.HTTPException) as error:
            problem = type(error).__name__
        if not problem:
            self._failures = 0
            return
        self._unsent += len(records)
        wait = OBSERVER_WAITS[min(self._failures, len(OBSERVER_WAITS) - 1)]
        self._silent_until = self._clock() + wait
        self._failures += 1
        if self._failures == 1:
            logger.warning("eunoe's observer page does not take events: %s", problem)

    def _post(self, body: bytes) -> int:
        address = self._address
        secure = address.scheme == "https"
        kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        connection = kind(address.hostname or "", address.port, timeout=_ANSWER_SECONDS)
        try:
            path = f"{address.path.rstrip('/')}/events"
            connection.request("POST", path, body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            answer.read()
            return answer.status
        finally:
            connection.close()


def _observer_address(url: str) -> SplitResult:
    """The address taken apart; what is in it is not repeated.

    Raises:
        SettingsError: it is refused.
    """
    try:
        parts = urlsplit(url.strip())
        sound = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except (AttributeError, ValueError):
        parts, sound = urlsplit(""), False
    if not sound or parts.username is not None or parts.query or parts.fragment:
        allowed = "an http:// or https:// address such as http://127.0.0.1:8788"
        raise SettingsError("url", "...", allowed)
    return parts
