"""Work behind the answers: entering them, telling of them. No request waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from eunoe.domain.log import logger

_THREADS = 2
MOST_WAITING = 1_000
"""Pieces of work; where a file or an observer hangs, what comes beyond them is left undone."""


class WorkBehind:
    """Threads apart from those that choose: a ledger that hangs holds up nothing but itself."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="eunoe-proxy-behind")
        self._waiting: set[asyncio.Future[None]] = set()
        self._full = False

    def do(self, work: Callable[[], None]) -> bool:
        """Have some work done that never raises; False if it is left undone."""
        if len(self._waiting) >= MOST_WAITING:
            if not self._full:
                logger.warning("eunoe: the ledger or the observer hangs; answers are not entered")
            self._full = True
            return False
        self._full = False
        try:
            task = asyncio.get_running_loop().run_in_executor(self._threads, work)
        except RuntimeError:  # the server has ended
            return False
        self._waiting.add(task)
        task.add_done_callback(self._waiting.discard)
        return True

    async def close(self, seconds: float) -> None:
        """Finish what waits, for so long; the rest is dropped."""
        if self._waiting:
            await asyncio.wait(self._waiting, timeout=seconds)
        self._threads.shutdown(wait=False, cancel_futures=True)
