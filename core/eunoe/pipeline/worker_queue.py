"""Models at work behind the requests: asked in batches, and left alone for a while after faults."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import partial
from itertools import islice
from typing import Generic, TypeVar

from eunoe.domain.log import logger
from eunoe.pipeline.own_threads import start_behind

WorkItem = TypeVar("WorkItem", bound=Hashable)

_WORK_MOST_WAITING = 20_000
_WORK_LOOKS = 0.02
"""Seconds between two looks at a deadline."""


class Backoff:
    """How long a model is left alone after its faults. Safe across threads.

    Args:
        what: what the model does, for the log.
        waits: seconds after its first fault in a row, the second, all further; at least one.
        clock: seconds, rising.
    """

    def __init__(
        self, what: str, waits: Sequence[float], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._what, self._waits, self._clock = what, waits, clock
        self._faults = 0
        self._until = -float("inf")
        self._lock = threading.Lock()

    @property
    def is_waiting(self) -> bool:
        """Whether the model is left alone now."""
        with self._lock:
            return self._clock() < self._until

    def attempt(self, call: Callable[[], object]) -> bool:
        """Call, unless the model is left alone; whether that went well.

        What is raised is a fault of the model and goes no further, unless it is to end the thread.
        """
        if self.is_waiting:
            return False
        try:
            call()
        except Exception as error:  # whatever it is, requests go on without
            self.note_fault(error)
            return False
        with self._lock:
            self._faults = 0
        return True

    def note_fault(self, error: BaseException) -> None:
        """Leave the model alone from now on, and say so."""
        with self._lock:
            wait = self._waits[min(self._faults, len(self._waits) - 1)]
            self._faults += 1
            self._until = self._clock() + wait
        logger.warning(
            "%s failed (%s): left alone for %g s", self._what, type(error).__name__, wait
        )


class WorkerQueue(Generic[WorkItem]):
    """What a model is to be asked, in one thread that lives while there is something to ask.

    Each item waits once, 20,000 at most. After a fault all that waits is dropped: the requests that
    still need it ask again. Safe across threads.

    Args:
        name: of the thread.
        ask: asks about a batch; what it raises is a fault of the model.
        backoff: of this model; others may call it beside the queue.
        batch: items asked about at a time.
        newest_first: what was put last is asked first.
    """

    def __init__(
        self,
        name: str,
        ask: Callable[[list[WorkItem]], object],
        backoff: Backoff,
        *,
        batch: int,
        newest_first: bool = False,
    ) -> None:
        self._name, self._ask, self._backoff = name, ask, backoff
        self._batch, self._newest_first = batch, newest_first
        self._waiting: dict[WorkItem, None] = {}
        self._working = False
        self._change = threading.Condition()

    def put(self, items: Iterable[WorkItem]) -> bool:
        """Have items asked about; returns at once.

        Returns:
            Whether all of them wait now; none do while the model is left alone.
        """
        with self._change:
            if self._backoff.is_waiting:
                return False
            room = True
            for item in items:
                room = len(self._waiting) < _WORK_MOST_WAITING
                if not room:
                    break  # the next request asks again
                self._waiting[item] = None
            if self._waiting and not self._working:
                self._working = True
                start_behind(self._name, self._work, self._give_up)
                room = room and self._working  # not where no thread could be started
            return room

    def wait_for(self, items: Iterable[WorkItem], seconds_left: Callable[[], float]) -> bool:
        """Wait until none of some items waits any more: it was asked about, or dropped.

        Args:
            items: those that were put.
            seconds_left: how long to wait yet; looked at again and again.

        Returns:
            Whether that was so in time.
        """
        rest = list(items)
        with self._change:
            while rest := [item for item in rest if item in self._waiting]:
                left = seconds_left()
                if left <= 0:
                    return False
                self._change.wait(min(left, _WORK_LOOKS))
        return True

    def drain(self) -> None:
        """Wait until nothing is left to be asked."""
        with self._change:
            self._change.wait_for(lambda: not self._working)

    def _work(self) -> None:
        while batch := self._next_batch():
            good = self._backoff.attempt(partial(self._ask, batch))
            with self._change:
                for item in batch if good else list(self._waiting):
                    self._waiting.pop(item, None)
                self._change.notify_all()

    def _next_batch(self) -> list[WorkItem]:
        """Items in the order in which they were put; empty at the end of the work."""
        with self._change:
            if self._newest_first:
                batch = list(islice(reversed(self._waiting), self._batch))[::-1]
            else:
                batch = list(islice(self._waiting, self._batch))
            if not batch:
                self._working = False
                self._change.notify_all()
            return batch

    def _give_up(self, error: BaseException) -> None:
        """The thread has ended by something that is no fault of its own kind."""
        self._backoff.note_fault(error)
        with self._change:
            self._waiting.clear()
            self._working = False
            self._change.notify_all()
