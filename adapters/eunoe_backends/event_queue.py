"""Work on events in a thread of its own, out of a short queue that drops the oldest."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

from eunoe.domain.log import logger

QUEUE_IDLE_SECONDS = 60.0
"""After so long without an event the thread ends; the next event starts another."""

QUEUE_PAUSE_SECONDS = 0.03
"""Before anything is handled: the request that was told of is to be on its way by then."""

_Item = TypeVar("_Item")


class EventQueue(Generic[_Item]):
    """Hands what is put in to a function, a few at a time, in order. Safe across threads.

    Nothing that the function does reaches who puts something in: of a full queue the oldest is
    lost, and a fault is logged by its class.

    Args:
        handle: gets what waits; never two calls at once.
        most: that may wait.
        at_a_time: that ``handle`` gets at most.
        name: of the thread.
    """

    def __init__(
        self, handle: Callable[[list[_Item]], None], *, most: int, at_a_time: int, name: str
    ) -> None:
        self._handle, self._at_a_time, self._name = handle, at_a_time, name
        self._waiting: deque[_Item] = deque(maxlen=most)
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._busy = False
        self.lost = 0
        """Items that had no room."""

    def put(self, item: _Item) -> None:
        """Have something handled, soon; never waits."""
        with self._changed:
            self.lost += len(self._waiting) == self._waiting.maxlen
            self._waiting.append(item)
            if self._thread is None or not self._thread.is_alive():  # not in a forked process
                self._busy = False
                self._thread = threading.Thread(target=self._work, name=self._name, daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def drain(self, seconds: float) -> bool:
        """Wait until nothing waits or is being handled; whether that is so."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._waiting and not self._busy, seconds)

    def _work(self) -> None:
        while True:
            with self._changed:
                self._busy = False
                self._changed.notify_all()
                if not self._changed.wait_for(lambda: self._waiting, QUEUE_IDLE_SECONDS):
                    self._thread = None
                    return
                self._busy = True
            time.sleep(QUEUE_PAUSE_SECONDS)
            with self._changed:
                number = min(self._at_a_time, len(self._waiting))
                items = [self._waiting.popleft() for _ in range(number)]
            try:
                self._handle(items)
            except Exception as error:
                logger.warning("an event cannot be told: %s", type(error).__name__)
            items.clear()
