"""What a language model says each message is worth to the question, where one is asked.

Labels to a question are had before the request (``prepare``), or in it within a time limit. Labels
made ahead, after an answer, say what later questions of the chat may need: they belong to the chat
and are no evidence by themselves. A message without a label is neutral, and without any the signal
is absent.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from eunoe.domain.checking import require_model_name
from eunoe.domain.errors import SettingsError
from eunoe.domain.log import logger
from eunoe.domain.ports import Labeller
from eunoe.pipeline.chat.memory import ContentEntry
from eunoe.pipeline.chat.opinion_memory import OpinionMemory
from eunoe.pipeline.own_threads import wait_behind

LABEL_AHEAD_LEAST = 16
"""Messages without a label from which on a model is asked ahead: fewer are not worth a call."""
LABEL_AHEAD_MOST = 240
"""Messages that are labelled ahead at a time, the oldest first; the next answer goes on."""

LABEL_AHEAD_WAIT = 120.0
"""Seconds for which nothing is labelled ahead after a fault."""

_LABEL_MOST_ASKING = 4
_LABEL_OVERHEAD_BYTES = 150


class HistoryLabeller:
    """Asks for labels and remembers them by content. Safe across threads; never raises.

    Args:
        labeller: the model.
        memory: where labels are kept, by the labeller's name, the question and the text.
        timeout: seconds that a request waits for labels; None: requests use what ``prepare`` found.
        clock: seconds, rising.

    Raises:
        SettingsError: the time-out is not above 0, or the labeller's name is no text.
    """

    def __init__(
        self,
        labeller: Labeller,
        memory: OpinionMemory[float],
        *,
        timeout: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if timeout is not None and not 0 < timeout < float("inf"):
            raise SettingsError("label_timeout", timeout, "seconds, above 0, finite, or None")
        self._labeller, self._memory = labeller, memory
        self._name = require_model_name("labeller", labeller.name)
        self._timeout, self._clock = timeout, clock
        self._closed_until = -float("inf")
        self._asking: set[tuple[Hashable, int]] = set()
        self._lock = threading.Lock()

    def labels(
        self, entries: Sequence[ContentEntry], question: ContentEntry
    ) -> tuple[NDArray[np.float64] | None, str]:
        """Labels of the finished messages, NaN for those without one.

        Returns:
            Shape (messages,), None if there is none; and a warning or "".
        """
        asked = question.meant()
        found = self._known(entries, asked)
        if found is None and asked and entries and self._timeout is not None:
            ask = partial(self.prepare, entries, question)
            wait_behind("eunoe-label", ask, _note_label_fault, self._timeout)
            found = self._known(entries, asked)
        warning = (
            "" if found is not None else "no labels: the model was not asked or did not answer"
        )
        return found, warning

    def labels_ahead(
        self, entries: Sequence[ContentEntry], chat: str
    ) -> NDArray[np.float64] | None:
        """Labels of the finished messages that were made ahead for this chat, shape (messages,)."""
        return self._known(entries, ("chat", chat)) if chat else None

    def prepare(self, entries: Sequence[ContentEntry], question: ContentEntry) -> bool:
        """Ask for the labels of a history to a question and remember them; False after a fault."""
        asked = question.meant()
        shown = [e for e in entries if e.meant()]
        return self._ask(shown, asked, asked) if asked and shown else True

    def prepare_ahead(self, entries: Sequence[ContentEntry], chat: str) -> bool:
        """Have those without a label labelled, once they are enough for a call."""
        key = ("chat", chat)
        texts = {e.meant(): e for e in entries if e.meant()}
        missing = [e for t, e in texts.items() if self._memory.get((self._name, key, t)) is None]
        if len(missing) < LABEL_AHEAD_LEAST:
            return True
        if self._clock() < self._closed_until:
            return False
        done = self._ask(missing[:LABEL_AHEAD_MOST], "", key)
        if not done:
            self._closed_until = self._clock() + LABEL_AHEAD_WAIT
        return done

    def _ask(self, shown: Sequence[ContentEntry], asked: str, key: Hashable) -> bool:
        place = (key, len(shown))
        with self._lock:
            if place in self._asking or len(self._asking) >= _LABEL_MOST_ASKING:
                return False  # another request is at it, or too many are
            self._asking.add(place)
        try:
            said = self._labeller.label(asked, [(e.message.role, e.meant()) for e in shown])
            for entry, label in zip(shown, said, strict=True):
                if label is not None and 0.0 <= label <= 1.0:
                    text = entry.meant()
                    size = _LABEL_OVERHEAD_BYTES + 2 * (len(asked) + len(text))
                    self._memory.put((self._name, key, text), float(label), size)
        except Exception as error:  # whatever it is, the request goes on without labels
            _note_label_fault(error)
            return False
        finally:
            with self._lock:
                self._asking.discard(place)
        return True

    def _known(
        self, entries: Sequence[ContentEntry], asked: Hashable
    ) -> NDArray[np.float64] | None:
        out = np.full(len(entries), np.nan)
        for i, entry in enumerate(entries):
            text = entry.meant()
            label = self._memory.get((self._name, asked, text)) if text else None
            if label is not None:
                out[i] = label
        return out if bool(np.isfinite(out).any()) else None


def _note_label_fault(error: BaseException) -> None:
    logger.warning("Labelling failed (%s)", type(error).__name__)
