"""The history as vectors: made after the answer, used as soon as they are there.

A vector is a pure function of a text, so requests that find the same vectors give the same answer.
As more of them arrive, answers may become better: nothing else makes them differ.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eunoe.domain.checking import require_model_name, require_whole
from eunoe.domain.errors import SettingsError
from eunoe.domain.ports import Embedder
from eunoe.pipeline.chat.memory import ContentEntry
from eunoe.pipeline.chat.opinion_memory import OpinionMemory
from eunoe.pipeline.chat.transcript import Transcript
from eunoe.pipeline.own_threads import wait_behind
from eunoe.pipeline.worker_queue import Backoff, WorkerQueue
from eunoe.stages.scoring.vectors import VectorTable, unit_vector

VectorMemory = OpinionMemory[NDArray[np.float32]]

EMBED_BATCH = 64
EMBED_WAITS = (5.0, 30.0, 120.0)
"""Seconds to leave an embedder alone after its first fault in a row, the second, all further."""

_EMBED_MOST_ASKING = 4
_EMBED_OVERHEAD_BYTES = 200
_NO_VECTOR: NDArray[np.float32] = np.zeros(0, dtype=np.float32)
"""What is remembered of a text that an embedder has no vector for, so that it is asked once."""


class HistoryEmbedder:
    """Embeds questions in a request and histories behind it. Safe across threads; never raises.

    Args:
        embedder: makes the vectors.
        memory: where they are kept, by the embedder's name and the text.
        in_request: embed what is missing of the history in the request too; for an embedder in this
            process that is quick.
        timeout: seconds that a request waits for the question's vector, above 0; with
            ``in_request`` it waits for as long as it takes.
        clock: seconds, rising.

    Raises:
        SettingsError: the time-out is not above 0, the embedder's name no text or its dimension no
            length.
    """

    def __init__(
        self,
        embedder: Embedder,
        memory: VectorMemory,
        *,
        in_request: bool = False,
        timeout: float = 0.5,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if not 0 < timeout < float("inf"):
            raise SettingsError("embed_timeout", timeout, "seconds, above 0, finite")
        self._embedder, self._memory = embedder, memory
        self._name = require_model_name("embedder", embedder.name)
        asks = getattr(embedder, "embed_question", None)
        self._embed_question = asks if asks is not None else embedder.embed
        self._asked_name = f"{self._name}, asked" if asks is not None else self._name
        self._in_request, self._timeout = in_request, timeout
        self._dimension = _checked_dimension(embedder.dimension)
        self._asking = threading.Semaphore(_EMBED_MOST_ASKING)
        self._backoff = Backoff("Embedding", EMBED_WAITS, clock)
        self._queue: WorkerQueue[str] = WorkerQueue(
            "eunoe-embed", self._embed_texts, self._backoff, batch=EMBED_BATCH
        )

    def likeness(
        self, transcript: Transcript, question: ContentEntry, expired: Callable[[], bool]
    ) -> tuple[NDArray[np.float64] | None, str]:
        """Cosine of each finished message with the question, NaN for those without a vector.

        Returns:
            Shape (messages,), None if the question has no vector; and a warning or "".
        """
        text = question.meant()
        asked = self._question_vector(text)
        if asked is None or not asked.size:
            return None, "the question was not embedded: words alone decide" if text else ""
        warning = ""
        table = self._table(transcript, asked.size)
        missing = table.unknown() if self._in_request else []
        if missing:
            if not self.embed_all([transcript.entries[row] for row in missing], expired):
                warning = "not all of the history was embedded"
            table = self._table(transcript, asked.size)
        return table.likeness(asked, upto=len(transcript.entries)), warning

    def learn(self, transcript: Transcript, newest: Sequence[ContentEntry]) -> None:
        """Have what is missing of a chat embedded in the background, oldest first.

        Args:
            transcript: the finished turns; ``newest`` is the current one.
        """
        entries: Sequence[ContentEntry] = transcript.entries
        if self._dimension is not None:
            table = self._table(transcript, self._dimension)
            entries = [transcript.entries[row] for row in table.unknown()]
        self._queue.put(self._missing([*entries, *newest]))

    def embed_all(
        self, entries: Sequence[ContentEntry], expired: Callable[[], bool] = lambda: False
    ) -> bool:
        """Embed what is missing of a history now; True if all of it has been embedded then."""
        missing = self._missing(entries)
        for start in range(0, len(missing), EMBED_BATCH):
            batch = missing[start : start + EMBED_BATCH]
            if expired() or not self._backoff.attempt(partial(self._embed_texts, batch)):
                return False
        return True

    def drain(self) -> None:
        """Wait until nothing is left to be embedded."""
        self._queue.drain()

    def _table(self, transcript: Transcript, dimension: int) -> VectorTable:
        """The vectors of the finished turns, with all that is known by now."""
        self._dimension = dimension
        table = transcript.vectors.get(self._name)
        if table is None or table.dimension != dimension:
            table = transcript.vectors[self._name] = VectorTable(dimension)
        size = len(transcript.entries)
        transcript.bytes += (size - len(table)) * dimension * 4
        table.grow(size)
        for row in table.unknown():
            vector = self._find(transcript.entries[row].meant())
            if vector is not None and vector.size:
                table.put(row, vector)
        return table

    def _find(self, text: str) -> NDArray[np.float32] | None:
        return self._memory.get((self._name, text)) if text else None

    def _missing(self, entries: Sequence[ContentEntry]) -> list[str]:
        texts = dict.fromkeys(e.meant() for e in entries)
        return [text for text in texts if text and self._find(text) is None]

    def embed_question(self, question: ContentEntry) -> bool:
        """Embed a question now, for as long as it takes; True if it has been embedded then."""
        text = question.meant()
        return not text or self._find_asked(text) is not None or self._embed_asked(text)

    def _find_asked(self, text: str) -> NDArray[np.float32] | None:
        return self._memory.get((self._asked_name, text)) if text else None

    def _embed_asked(self, text: str) -> bool:
        ask = partial(self._embed, [text], self._embed_question, self._asked_name)
        return self._backoff.attempt(ask)

    def _question_vector(self, text: str) -> NDArray[np.float32] | None:
        found = self._find_asked(text)
        if found is not None or not text:
            return found
        if self._in_request:
            self._embed_asked(text)
            return self._find_asked(text)

        def ask() -> None:
            if not self._asking.acquire(blocking=False):
                return
            try:
                self._embed_asked(text)
            finally:
                self._asking.release()

        wait_behind("eunoe-embed-question", ask, self._backoff.note_fault, self._timeout)
        return self._find_asked(text)

    def _embed_texts(self, texts: list[str]) -> None:
        self._embed(texts, self._embedder.embed, self._name)

    def _embed(self, texts: list[str], ask: Callable[[list[str]], Any], name: str) -> None:
        """Ask for vectors and remember them by this name.

        Raises:
            ValueError: there is not one vector for each; or whatever the embedder raises.
        """
        vectors = ask(texts)
        if len(vectors) != len(texts):
            raise ValueError(f"{len(vectors)} vectors for {len(texts)} texts")
        for text, values in zip(texts, vectors, strict=True):
            found = unit_vector(values)
            vector = found if found is not None else _NO_VECTOR
            size = vector.nbytes + 2 * len(text) + _EMBED_OVERHEAD_BYTES
            self._memory.put((name, text), vector, size)


def _checked_dimension(value: object) -> int | None:
    """The length of vectors, as an embedder says it; numpy's numbers are taken, too."""
    if value is None:
        return None
    length: Any = value.item() if isinstance(value, np.integer) else value
    allowed = "the length of a vector, 1 to 1,000,000, or None"
    require_whole("embedder.dimension", length, allowed, least=1, most=1_000_000)
    return int(length)
