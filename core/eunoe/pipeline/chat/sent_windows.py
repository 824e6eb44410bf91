"""What the newest requests of a chat sent, as far as this process answered them.

It never changes a view. It tells one request more than the history can: that the one before made
room for its question, so that the window grows back now, or that it had no summary yet.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

_MOST_ASKED = 4


class SentWindow(NamedTuple):
    """What a request of so many messages sent: where its window began, and which summary."""

    size: int
    start: int
    summary: str


class SentWindows:
    """The newest two windows that were sent to those who ask alike."""

    def __init__(self) -> None:
        self._sent: dict[Hashable, tuple[SentWindow, ...]] = {}

    def note(self, asked: Hashable, window: SentWindow) -> None:
        """Remember what was sent to those who ask so: with this budget and these settings, say."""
        shorter = [w for w in self._sent.pop(asked, ()) if w.size < window.size]
        self._sent[asked] = (*shorter[-1:], window)
        if len(self._sent) > _MOST_ASKED:
            del self._sent[next(iter(self._sent))]

    def was_otherwise(self, asked: Hashable, window: SentWindow) -> bool:
        """Whether the request before is known to have sent another window or another summary.

        The same request, asked again, has the same window, but a summary may have come meanwhile.
        """
        known = [w for w in self._sent.get(asked, ()) if w.size <= window.size]
        shorter = [w for w in known if w.size < window.size]
        return any(w.start != window.start for w in shorter[-1:]) or any(
            w.summary != window.summary for w in known[-1:]
        )
