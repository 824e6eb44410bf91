"""A model that is asked for what it makes of contents, within a time limit, and remembered.

What it says of a content is taken for a pure function of that content: requests that find the same
opinions give the same answer. A request takes all that it asks for, or none of it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Generic, TypeVar

from eunoe.domain.errors import SettingsError
from eunoe.pipeline.chat.opinion_memory import OpinionMemory
from eunoe.pipeline.worker_queue import Backoff, WorkerQueue

Asked = TypeVar("Asked", bound=Hashable)
Said = TypeVar("Said")

DESK_BATCH = 64
DESK_WAITS = (5.0, 30.0, 120.0)
"""Seconds to leave a model alone after its first fault in a row, the second, all further."""


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
        self._key, self._timeout, self._clock = key, timeout, clock
        self._queue: WorkerQueue[Asked] = WorkerQueue(
            "eunoe-opinions",
            self._ask_for,
            Backoff(what, DESK_WAITS, clock),
            batch=DESK_BATCH,
            newest_first=True,
        )

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
        self._queue.drain()

    def _answered(self, missing: list[Asked], expired: Callable[[], bool], timeout: float) -> bool:
        """Have contents asked about; False where the time is over before.

        Of a model that failed, memory has no opinion then.
        """
        until = self._clock() + timeout

        def seconds_left() -> float:
            return 0.0 if expired() else until - self._clock()

        if expired() or not self._queue.put(missing):
            return False
        return self._queue.wait_for(missing, seconds_left)

    def _ask_for(self, batch: list[Asked]) -> None:
        """Ask for opinions and remember them.

        Raises:
            ValueError: there is not one answer for each; or whatever the model raises.
        """
        answers = list(self._ask(batch))
        if len(answers) != len(batch):
            raise ValueError(f"{len(answers)} answers for {len(batch)}")
        read = [self._read(answer) for answer in answers]
        for content, (said, size) in zip(batch, read, strict=True):
            self._memory.put((self._name, self._key(content)), said, size)
