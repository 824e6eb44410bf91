"""Have summaries written behind the answers, and remember them by what they sum up.

A summary belongs to the beginning of a chat up to a turn. Its key is a hash over the contents of
these messages, so an edit, a branch or another chat never finds it, and a copy of the chat does.
"""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import threading
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeGuard

from eunoe.domain.errors import BackendError, SettingsError
from eunoe.domain.log import logger
from eunoe.domain.ports import Summarizer, SummaryStore, TokenCounter
from eunoe.pipeline.chat.opinion_memory import OpinionMemory
from eunoe.pipeline.own_threads import start_behind
from eunoe.pipeline.summaries.gist import extractive_gist
from eunoe.pipeline.summaries.honest import SummarySource, honest_summary
from eunoe.pipeline.worker_queue import Backoff
from eunoe.stages.quoting import summary_block

SUMMARY_WAIT = 60.0
"""Seconds for which a summarizer is left alone after a fault."""

_SUMMARY_MOST_WRITING = 4
"""Chats that are summed up at a time; others wait for their next request."""
_SUMMARY_OVERHEAD_BYTES = 300
_LEAST_RATIO = 0.02
"""Tokens of a summary over those of its source, at least: no model is asked for less."""
_LOOK_AGAIN = 5.0
"""Seconds for which the store is not asked again for what it lacked."""
_MOST_LOOKS = 1_024
"""Keys of which that is remembered."""


@dataclass(frozen=True, slots=True)
class SummaryPiece:
    """Some turns that follow on what is summed up already.

    Attributes:
        key: of the summary that holds all up to the end of these turns.
        messages: role and text of each, oldest first.
        tokens: of these.
    """

    key: Hashable
    messages: tuple[tuple[str, str], ...]
    tokens: int


@dataclass(frozen=True, slots=True)
class SummaryJob:
    """Summaries to write, one for each piece, each on top of the one before.

    Attributes:
        before: the summary that the first piece follows on; empty at the beginning of a chat.
        pieces: in order.
        max_tokens: of each summary.
        counter: counts them.
    """

    before: str
    pieces: tuple[SummaryPiece, ...]
    max_tokens: int
    counter: TokenCounter


class SummaryDesk:
    """Asks a summarizer and remembers what it wrote. Safe across threads; never raises.

    Args:
        summarizer: writes them.
        memory: where they are kept.
        store: where they are kept for other workers, too; None for nowhere.
        timeout: seconds that one of them may take, above 0.
        clock: seconds, rising.

    Raises:
        SettingsError: the time-out is not above 0.
    """

    def __init__(
        self,
        summarizer: Summarizer,
        memory: OpinionMemory[str],
        *,
        store: SummaryStore | None = None,
        timeout: float = 80.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if not 0 < timeout < float("inf"):
            raise SettingsError("summary_timeout", timeout, "seconds, above 0, finite")
        named: Any = summarizer.name
        self._summarizer, self._memory, self._store = summarizer, memory, store
        self._next_look: dict[Hashable, float] = {}
        self.name = str(named() if callable(named) else named)
        self._timeout, self._clock = timeout, clock
        self._backoff = Backoff("Summing up", (SUMMARY_WAIT,), clock)
        self._writing: set[Hashable] = set()
        self._idle = threading.Condition()

    def find(self, key: Hashable) -> str | None:
        """The summary with this key; None if none was written."""
        return self._memory.get((self.name, key))

    def fetch(self, keys: Sequence[Hashable]) -> bool:
        """Look in the store for summaries that other workers wrote; whether one was found.

        What is not there is not looked for again for some seconds.
        """
        if self._store is None or not keys:
            return False
        now = self._clock()
        with self._idle:
            if now < self._next_look.get(keys[0], now):
                return False
            self._next_look.pop(keys[0], None)
            self._next_look[keys[0]] = now + _LOOK_AGAIN
            if len(self._next_look) > _MOST_LOOKS:
                del self._next_look[next(iter(self._next_look))]
        try:
            found = self._store.find([self._store_key(key) for key in keys])
            kept = [(k, text) for k, text in zip(keys, found, strict=True) if _is_text(text)]
        except Exception as error:  # it should not, but the request goes on without the store
            logger.warning("The store of summaries failed: %s", type(error).__name__)
            return False
        for key, text in kept:
            self._keep((self.name, key), text)
        return bool(kept)

    def _kept_by_store(self, key: Hashable, text: str) -> str:
        """The summary that the store keeps; ours where there is no store, or it fails."""
        if self._store is None:
            return text
        try:
            kept = self._store.keep(self._store_key(key), text)
        except Exception as error:  # it should not, but the summary is there
            logger.warning("The store of summaries failed: %s", type(error).__name__)
            return text
        return kept if _is_text(kept) else text

    def _store_key(self, key: Hashable) -> str:
        """One text for one key: the summarizer, and what is summed up."""
        parts = key if isinstance(key, tuple) else (key,)
        named = " ".join(p.hex() if isinstance(p, bytes) else str(p) for p in parts)
        return hashlib.sha256(f"{self.name}\n{named}".encode("utf-8", "replace")).hexdigest()

    def find_gist(self, key: Hashable) -> str | None:
        """What stands in for a summary that could not be written; None if none was tried."""
        return self._memory.get((self.name, "gist", key))

    def start(self, job: SummaryJob) -> None:
        """Write in the background; returns at once. What is being written is not begun again."""
        if self._take(job):
            start_behind("eunoe-summary", partial(self._write, job), partial(self._give_up, job))

    def write(self, job: SummaryJob) -> bool:
        """Write now, for as long as it takes; False if none came of it or others are at it."""
        return self._take(job) and self._write(job)

    def drain(self) -> None:
        """Wait until nothing is left to be written."""
        with self._idle:
            self._idle.wait_for(lambda: not self._writing)

    def _take(self, job: SummaryJob) -> bool:
        first = job.pieces[0].key if job.pieces else None
        with self._idle:
            closed = self._backoff.is_waiting
            full = len(self._writing) >= _SUMMARY_MOST_WRITING
            if first is None or closed or full or first in self._writing:
                return False
            if all(self._settled(piece.key) is not None for piece in job.pieces):
                return False
            self._writing.add(first)
            return True

    def _write(self, job: SummaryJob) -> bool:
        before = job.before
        try:
            for piece in job.pieces:
                text = self._settled(piece.key)
                if text is None:
                    text = self._summed_up(before, piece, job)
                if text is None:
                    return False
                before = text or before
        except Exception as error:  # a caller's counter, say: nobody else would hear of it
            self._backoff.note_fault(error)
            return False
        finally:
            self._end(job)
        return self.find(job.pieces[-1].key) is not None

    def _end(self, job: SummaryJob) -> None:
        with self._idle:
            self._writing.discard(job.pieces[0].key)
            self._idle.notify_all()

    def _give_up(self, job: SummaryJob, error: BaseException) -> None:
        """The thread has ended by something that is no fault of its own kind, or never began."""
        self._backoff.note_fault(error)
        self._end(job)

    def _settled(self, key: Hashable) -> str | None:
        """What the next summary goes on from: this one, or the gist where no answer was usable.

        None if it is still to be asked for; empty if there is no gist either.
        """
        return self.find(key) or self._memory.get((self.name, "unusable", key))

    def _summed_up(self, before: str, piece: SummaryPiece, job: SummaryJob) -> str | None:
        """The new summary, remembered; the gist where it is none; None after a fault."""
        count = job.counter.count
        source = SummarySource((*([before] if before else []), *(t for _, t in piece.messages)))
        try:
            said = self._ask(before, piece, job)
        except Exception as error:  # whatever it is, the chat goes on without this summary
            self._backoff.note_fault(error)
            self._keep_gist(before, piece, job)
            return None
        text = honest_summary(said, source, job.max_tokens, count)
        if text is None:
            logger.warning(
                "No summary: the answer is none of what was shown, and is not asked again"
            )
            gist = self._keep_gist(before, piece, job)
            self._keep((self.name, "unusable", piece.key), gist)
            return gist
        text = self._kept_by_store(piece.key, text)
        self._keep((self.name, piece.key), text)
        return text

    def _keep_gist(self, before: str, piece: SummaryPiece, job: SummaryJob) -> str:
        """What stands in for the summary; empty if nothing does."""
        shown = [*([("summary", before)] if before else []), *piece.messages]
        gist = extractive_gist(shown, job.max_tokens, job.counter.count_batch)
        if gist is not None:
            self._keep((self.name, "gist", piece.key), gist)
        return gist or ""

    def _ask(self, before: str, piece: SummaryPiece, job: SummaryJob) -> str:
        messages: list[Mapping[str, str]] = [
            {"role": role, "content": text} for role, text in piece.messages
        ]
        tokens = piece.tokens
        if before:
            messages.insert(0, {"role": "user", "content": summary_block(before)})
            tokens += job.counter.count(before)
        ratio = min(1.0, max(_LEAST_RATIO, job.max_tokens / max(1, tokens)))
        answer: Any = self._summarizer.summarize(messages, target_ratio=ratio)
        if inspect.isawaitable(answer):
            answer = asyncio.run(_within(answer, self._timeout))
        if not isinstance(answer, str):
            raise BackendError(f"the summary is {type(answer).__name__}, not text")
        return answer

    def _keep(self, key: Hashable, text: str) -> None:
        self._memory.put(key, text, _SUMMARY_OVERHEAD_BYTES + 2 * len(text))


def _is_text(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and bool(value)


async def _within(answer: Any, seconds: float) -> Any:
    return await asyncio.wait_for(answer, seconds)
