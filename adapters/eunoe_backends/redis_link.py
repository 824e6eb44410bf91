"""A line to a Redis-protocol server that never holds up a request.

Each call has a deadline, whatever the network does. After a fault the server is left alone for
5 s, then 30 s, then 2 min, and calls answer at once with what they were given as default.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from eunoe.domain.errors import BackendError, SettingsError
from eunoe.domain.log import logger

RECONNECT_WAITS = (5.0, 30.0, 120.0)
_MOST_CALLS_OPEN = 8

Answer = TypeVar("Answer")


class RedisLink:
    """A client with a deadline and a memory of faults. Safe across threads.

    Args:
        client: a redis-py client, or one that is used alike.
        timeout: seconds that a call may block, above 0.
        waits: seconds to leave the server alone after the first fault, the second, and so on; the
            last one counts for all further ones.
        clock: seconds, rising.

    Raises:
        SettingsError: the time-out is not above 0, or there is no wait.
    """

    def __init__(
        self,
        client: Any,
        *,
        timeout: float = 0.25,
        waits: Sequence[float] = RECONNECT_WAITS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if not 0 < timeout < math.inf:
            raise SettingsError("timeout", timeout, "seconds, above 0, finite")
        if not waits:
            raise SettingsError("waits", waits, "at least one")
        self._client = client
        self._timeout, self._waits, self._clock = timeout, tuple(waits), clock
        self._faults = 0
        self._closed_until = -math.inf
        self._open_calls = 0
        self._lock = threading.Lock()

    @classmethod
    def from_url(
        cls,
        url: str = "redis://localhost:6379/0",
        *,
        timeout: float = 0.25,
        waits: Sequence[float] = RECONNECT_WAITS,
        clock: Callable[[], float] = time.monotonic,
    ) -> RedisLink:
        """A link by address; nothing is connected before the first call.

        Raises:
            BackendError: redis-py is not installed.
            SettingsError: the address cannot be read. It is not repeated: it may hold a password.
        """
        try:
            from redis import Redis
            from redis.backoff import NoBackoff
            from redis.retry import Retry
        except ImportError as error:
            raise BackendError("Redis needs redis-py: pip install 'eunoe[redis]'") from error
        try:
            client = Redis.from_url(
                url,
                socket_timeout=timeout,
                socket_connect_timeout=timeout,
                retry=Retry(NoBackoff(), 1),  # a pooled connection may have gone stale
                decode_responses=True,
            )
        except ValueError as error:
            raise SettingsError("redis url", "...", "redis://, rediss:// or unix://") from error
        return cls(client, timeout=timeout, waits=waits, clock=clock)

    @property
    def is_open(self) -> bool:
        """Whether the next call will try the server."""
        with self._lock:
            return self._clock() >= self._closed_until

    def call(self, work: Callable[[Any], Answer], default: Answer) -> Answer:
        """Let ``work`` speak with the client, for ``timeout`` seconds at most.

        Returns:
            Its answer; ``default`` if the server is left alone, fails or does not answer in time.
            Never raises.
        """
        with self._lock:
            if self._clock() < self._closed_until:
                return default
            if self._open_calls >= _MOST_CALLS_OPEN:
                return default
            self._open_calls += 1
        box: list[Answer] = []
        fault: list[str] = []
        done = threading.Event()

        def speak() -> None:
            try:
                box.append(work(self._client))
            except BaseException as error:  # in this thread nobody else would hear of it
                fault.append(type(error).__name__)
            finally:
                with self._lock:
                    self._open_calls -= 1
                done.set()

        threading.Thread(target=speak, name="eunoe-redis", daemon=True).start()
        if not done.wait(self._timeout):
            self._note_fault("no answer in time")
            return default
        if fault:
            self._note_fault(fault[0])
            return default
        self._note_success()
        return box[0]

    def _note_fault(self, what: str) -> None:
        with self._lock:
            now = self._clock()
            if now < self._closed_until:
                return  # another call of the same outage has said it
            wait = self._waits[min(self._faults, len(self._waits) - 1)]
            self._faults += 1
            self._closed_until = now + wait
        logger.warning("Redis does not answer (%s): left alone for %g s", what, wait)

    def _note_success(self) -> None:
        with self._lock:
            was_down, self._faults = self._faults > 0, 0
        if was_down:
            logger.info("Redis answers again")
