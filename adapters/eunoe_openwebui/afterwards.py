"""What is done after the answers: a few things at a time, the newest of each chat."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable

from eunoe.domain.log import logger

_JOBS_NOTED = 64
_JOBS_AT_A_TIME = 4

AfterwardsJob = Callable[[], object]


class AfterwardsDesk:
    """Jobs that requests leave for after their answer. Safe across threads.

    Bounded: the oldest are forgotten, and the next request of their chat leaves a new one. A job
    waits here for an answer that may never come, as when the user stops it; then it is replaced.
    """

    def __init__(self) -> None:
        self._noted: OrderedDict[str, AfterwardsJob] = OrderedDict()
        self._due: OrderedDict[str, AfterwardsJob] = OrderedDict()
        self._working = 0
        self._idle = threading.Condition()

    def note(self, turn: str, job: AfterwardsJob, *, first: bool = True) -> None:
        """Leave a job for when the turn is answered, in place of the one before.

        Args:
            first: it comes from the first step of the turn; those of later steps wait behind it.
        """
        with self._idle:
            if not first and turn in self._noted:
                return
            self._noted.pop(turn, None)
            self._noted[turn] = job
            if len(self._noted) > _JOBS_NOTED:
                self._noted.popitem(last=False)

    def answered(self, turn: str) -> None:
        """Start what was left for this turn, in the background; returns at once."""
        with self._idle:
            job = self._noted.pop(turn, None)
            if job is None:
                return
            self._due[turn] = job
            if len(self._due) > _JOBS_NOTED:
                self._due.popitem(last=False)
            if self._working < _JOBS_AT_A_TIME:
                self._working += 1
                threading.Thread(target=self._work, name="eunoe-after", daemon=True).start()

    def drain(self) -> None:
        """Wait until nothing is left to be done."""
        with self._idle:
            self._idle.wait_for(lambda: not self._working)

    def _work(self) -> None:
        while True:
            with self._idle:
                if not self._due:
                    self._working -= 1
                    self._idle.notify_all()
                    return
                _, job = self._due.popitem(last=False)
            try:
                job()
            except BaseException as error:  # a model may even end its thread: the chat does without
                logger.warning("eunoe failed after an answer: %s", type(error).__name__)
