"""Sending events to the page of `eunoe observe`, behind the requests; what cannot be sent is lost.

from eunoe_backends import RemoteObserver

optimizer = HistoryOptimizer(max_tokens=8000, observer=RemoteObserver("http://127.0.0.1:8788"))
"""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections import deque
from collections.abc import Callable
from urllib.parse import SplitResult, urlsplit

from eunoe.domain.errors import SettingsError
from eunoe.domain.event import RequestEvent
from eunoe.domain.log import logger
from eunoe_backends.event_record import event_record

OBSERVER_WAITS = (5.0, 30.0, 120.0)
"""Seconds without a try after the first failure, the second, and all further ones."""
_EVENTS_WAITING = 64
_EVENTS_AT_A_TIME = 16
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
        self._waiting: deque[RequestEvent] = deque(maxlen=_EVENTS_WAITING)
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._busy = False
        self._failures, self._silent_until = 0, -float("inf")
        self.lost = 0
        """Events that were not sent."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._address.netloc})"

    def observe(self, event: RequestEvent) -> None:
        """Have a request told of; never waits and never raises."""
        with self._changed:
            self.lost += len(self._waiting) == _EVENTS_WAITING
            self._waiting.append(event)
            if self._thread is None or not self._thread.is_alive():  # not in a forked process
                self._busy = False
                self._thread = threading.Thread(
                    target=self._work, name="eunoe-observer", daemon=True
                )
                self._thread.start()
            self._changed.notify_all()

    def drain(self, seconds: float = 5.0) -> bool:
        """Wait until all is sent or given up, as a script does before it ends.

        Returns:
            Whether nothing waits any more.
        """
        with self._changed:
            return self._changed.wait_for(lambda: not self._waiting and not self._busy, seconds)

    def _work(self) -> None:
        while True:
            with self._changed:
                self._busy = False
                self._changed.notify_all()
                self._changed.wait_for(lambda: self._waiting)
                self._busy = True
                if self._clock() < self._silent_until:
                    self.lost += len(self._waiting)
                    self._waiting.clear()
                    continue
                least = min(_EVENTS_AT_A_TIME, len(self._waiting))
                events = [self._waiting.popleft() for _ in range(least)]
            self._send(events)

    def _send(self, events: list[RequestEvent]) -> None:
        problem = ""
        try:
            body = json.dumps([event_record(event) for event in events]).encode()
            status = self._post(body)
            problem = "" if status == 204 else f"status {status}"
        except Exception as error:  # of the network, or of an event that cannot be told
            problem = type(error).__name__
        if not problem:
            self._failures = 0
            return
        self.lost += len(events)
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
