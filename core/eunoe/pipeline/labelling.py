"""What a language model says each message is worth to the question, where one is asked.

Labels are had before the request (``prepare``), or in it within a time limit; a message without one
is neutral, and without any the signal is absent.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from eunoe.domain.errors import SettingsError
from eunoe.domain.log import logger
from eunoe.domain.ports import Labeller
from eunoe.pipeline.memory import ContentEntry
from eunoe.pipeline.opinion_memory import OpinionMemory

_LABEL_MOST_ASKING = 4
_LABEL_OVERHEAD_BYTES = 150


class HistoryLabeller:
    """Asks for labels and remembers them by content. Safe across threads; never raises.

    Args:
        labeller: the model.
        memory: where labels are kept, by the labeller's name, the question and the text.
        timeout: seconds that a request waits for labels; None: requests use what ``prepare`` found.

    Raises:
        SettingsError: the time-out is not above 0.
    """

    def __init__(
        self, labeller: Labeller, memory: OpinionMemory[float], *, timeout: float | None = None
    ) -> None:
        if timeout is not None and not 0 < timeout < float("inf"):
            raise SettingsError("label_timeout", timeout, "seconds, above 0, finite, or None")
        self._labeller, self._memory, self._name = labeller, memory, labeller.name
        self._timeout = timeout
        self._asking: set[tuple[str, int]] = set()
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
            done = threading.Event()

            def ask() -> None:
                try:
                    self.prepare(entries, question)
                finally:
                    done.set()

            threading.Thread(target=ask, name="eunoe-label", daemon=True).start()
            done.wait(self._timeout)
            found = self._known(entries, asked)
        warning = (
            "" if found is not None else "no labels: the model was not asked or did not answer"
        )
        return found, warning

    def prepare(self, entries: Sequence[ContentEntry], question: ContentEntry) -> bool:
        """Ask for the labels of a history and remember them; False after a fault."""
        asked = question.meant()
        shown = [e for e in entries if e.meant()]
        if not asked or not shown:
            return True
        key = (asked, len(shown))
        with self._lock:
            if key in self._asking or len(self._asking) >= _LABEL_MOST_ASKING:
                return False  # another request is at it, or too many are
            self._asking.add(key)
        try:
            said = self._labeller.label(asked, [(e.message.role, e.meant()) for e in shown])
            for entry, label in zip(shown, said, strict=True):
                if label is not None and 0.0 <= label <= 1.0:
                    text = entry.meant()
                    size = _LABEL_OVERHEAD_BYTES + 2 * (len(asked) + len(text))
                    self._memory.put((self._name, asked, text), float(label), size)
        except Exception as error:  # whatever it is, the request goes on without labels
            logger.warning("Labelling failed (%s)", type(error).__name__)
            return False
        finally:
            with self._lock:
                self._asking.discard(key)
        return True

    def _known(self, entries: Sequence[ContentEntry], asked: str) -> NDArray[np.float64] | None:
        out = np.full(len(entries), np.nan)
        for i, entry in enumerate(entries):
            text = entry.meant()
            label = self._memory.get((self._name, asked, text)) if text else None
            if label is not None:
                out[i] = label
        return out if bool(np.isfinite(out).any()) else None
