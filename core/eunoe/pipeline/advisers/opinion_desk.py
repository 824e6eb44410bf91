"""A model that is asked for what it makes of contents, within a time limit, and remembered.

What it says of a content is taken for a pure function of that content: requests that find the same
opinions give the same answer. A request takes all that it asks for, or none of it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Sequence
from itertools import islice
from typing import Any, Generic, TypeVar

from eunoe.domain.errors import SettingsError
from eunoe.domain.log import logger
from eunoe.pipeline.chat.opinion_memory import OpinionMemory
from eunoe.pipeline.own_threads import start_behind

Asked = TypeVar("Asked", bound=Hashable)
Said = TypeVar("Said")

DESK_BATCH = 64
DESK_WAITS = (5.0, 30.0, 120.0)
"""Seconds to leave a model alone after its first fault in a row, the second, all further."""

_DESK_MOST_WAITING = 20_000
_DESK_LOOKS = 0.02
"""Seconds between two looks at a deadline."""


class OpinionDesk(Generic[Asked, Said]):
    """Asks in a thread of its own, so that a late model holds no request up. Never raises.

    What was asked in vain for lack of time is still answered behind the request, for the next one;
    what was asked last comes first. Safe across threads.

    Args:
        name: of the model, under which its opinions are remembered.
        ask: the model: one answer for each of some contents.
        read: turns an answer into an opinion and the bytes that it takes in memory; what it raises
            is a fault of the model.
        key: what tells contents apart; kept with each opinion, so it should be small.
        memory: where opinions are kept, by the name and the key.
        what: what the model does, for the log.
        timeout: seconds that a request waits, above 0.
        clock: seconds, rising.

    Raises:
        SettingsError: the time-out is not above 0.
    """

    def __init__(
        self,
        name: str,
        ask: Callable[[Sequence[Asked]], Sequence[Any]],
        read: Callable[[Any], tuple[Said, int]],
        key: Callable[[Asked], Hashable],
        memory: OpinionMemory[Said],
        *,
        what: str,
        timeout: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if not 0 < timeout < float("inf"):
            raise SettingsError("structure_timeout", timeout, "seconds, above 0, finite")
        self._name, self._ask, self._read, self._memory = name, ask, read, memory
        self._key, self._what, self._timeout, self._clock = key, what, timeout, clock
        self._waiting: dict[Asked, None] = {}
        self._working = False
        self._faults_in_a_row = 0
        self._closed_until = -float("inf")
        self._change = threading.Condition()

    def opinions(
        self, asked: Sequence[Asked], expired: Callable[[], bool], *, patient: bool = False
    ) -> list[Said] | None:
        """What the model says of each content.

        Args:
            asked: the contents; those known already cost a look each.
            expired: whether the time of the request is over.
            patient: wait for as long as it takes.

        Returns:
            One opinion for each, or None if some could not be had in time.
        """
        keys = [(self._name, self._key(content)) for content in asked]
        found = [self._memory.get(key) for key in keys]
        missing = [content for content, said in zip(asked, found, strict=True) if said is None]
        if missing:
            timeout = float("inf") if patient else self._timeout
            if not self._answered(list(dict.fromkeys(missing)), expired, timeout):
                return None
            found = [self._memory.get(key) for key in keys]
        known = [said for said in found if said is not None]
        return known if len(known) == len(asked) else None

    def drain(self) -> None:
        """Wait until nothing is left to be asked."""
        with self._change:
            self._change.wait_for(lambda: not self._working)

    def _answered(self, missing: list[Asked], expired: Callable[[], bool], timeout: float) -> bool:
        """Have contents asked about; False where the time is over before.

        Of a model that failed, memory has no opinion then.
        """
        until = self._clock() + timeout
        with self._change:
            if self._clock() < self._closed_until or expired():
                return False
            for content in missing:
                if len(self._waiting) >= _DESK_MOST_WAITING:
                    return False  # the next request asks again
                self._waiting[content] = None
            if self._waiting and not self._working:
                self._working = True
                start_behind("eunoe-opinions", self._work, self._give_up)
            while missing := [content for content in missing if content in self._waiting]:
                left = until - self._clock()
                if left <= 0 or expired():
                    return False
                self._change.wait(min(left, _DESK_LOOKS))
            return True

    def _work(self) -> None:
        while True:
            with self._change:
                batch = list(islice(reversed(self._waiting), DESK_BATCH))[::-1]
                if not batch:
                    self._working = False
                    self._change.notify_all()
                    return
            good = self._ask_for(batch)
            with self._change:
                for content in batch if good else list(self._waiting):
                    self._waiting.pop(content, None)
                self._change.notify_all()

    def _ask_for(self, batch: list[Asked]) -> bool:
        """Ask for opinions and remember them; False after a fault."""
        try:
            answers = list(self._ask(batch))
            if len(answers) != len(batch):
                raise ValueError(f"{len(answers)} answers for {len(batch)}")  # noqa: TRY301
            read = [self._read(answer) for answer in answers]
        except Exception as error:  # whatever it is, requests go on without
            self._note_fault(error)
            return False
        for content, (said, size) in zip(batch, read, strict=True):
            self._memory.put((self._name, self._key(content)), said, size)
        with self._change:
            self._faults_in_a_row = 0
        return True

    def _give_up(self, error: BaseException) -> None:
        """The thread has ended by something that is no fault of its own kind."""
        self._note_fault(error)
        with self._change:
            self._waiting.clear()
            self._working = False
            self._change.notify_all()

    def _note_fault(self, error: BaseException) -> None:
        with self._change:
            wait = DESK_WAITS[min(self._faults_in_a_row, len(DESK_WAITS) - 1)]
            self._faults_in_a_row += 1
            self._closed_until = self._clock() + wait
        kind = type(error).__name__
        logger.warning("%s failed (%s): not asked for %g s", self._what, kind, wait)
