"""The grown part of recent chats, found again by their messages."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from eunoe.pipeline.chat.memory import ContentEntry, ContentKey, Grown, content_key

GrownState = TypeVar("GrownState", bound=Grown)


class ChatMemory(Generic[GrownState]):
    """The grown part of recent chats, found again by its messages: least recently used goes.

    Bounded by bytes (as estimated from the sizes of the messages) and by the number of chats; the
    chat in use stays, however large. What a request made grow is paid for when it ends.
    """

    def __init__(self, max_bytes: int, max_chats: int = 64) -> None:
        self._max_bytes, self._max_chats = max_bytes, max_chats
        self._chats: dict[GrownState, int] = {}  # with their bytes, the last used one last
        self._bytes = 0
        self._ends: dict[int, dict[ContentKey, list[GrownState]]] = {}  # by size and last message
        self._lock = threading.Lock()

    @property
    def accounted_bytes(self) -> int:
        """Bytes of the chats, as estimated when they were last given back."""
        return self._bytes

    def find_given(self, raws: Sequence[Mapping[str, Any]], counted_by: str) -> GrownState | None:
        """The longest remembered chat of which all messages open this list, as they were given.

        It comes locked for this caller alone. Chats with flags are not looked for: what they mean
        depends on the settings.
        """
        with self._lock:
            likely = [
                state
                for size in sorted(self._ends, reverse=True)
                if size < len(raws)
                for state in self._ends[size].get(content_key(raws[size - 1]), ())
                if state.counted_by == counted_by
            ]
        for state in likely:
            with self._lock:
                if state.busy or state not in self._chats:
                    continue
                self._take(state)
            if state.was_given(raws[: len(state.entries)]):
                with self._lock:
                    self._chats[state] = self._chats.pop(state, 0)
                return state
            self.release(state)
        return None

    def find(
        self, entries: Sequence[ContentEntry], counted_by: str, make: Callable[[], GrownState]
    ) -> GrownState:
        """The longest remembered chat of which all messages open this one, else a new one.

        The state comes locked for this caller alone: other requests of the chat make their own.
        """
        with self._lock:
            best: GrownState | None = None
            for state in self._chats:
                size = len(state.entries)
                fits = counted_by == state.counted_by and (best is None or size > len(best.entries))
                if fits and size <= len(entries) and not state.busy and state.opens(entries):
                    best = state
            if best is None:
                best = make()
            self._take(best)
            self._chats[best] = self._chats.pop(best, 0)
            return best

    def release(self, state: GrownState) -> None:
        """Give the state back for the next request of the chat; a half-grown one is forgotten."""
        with self._lock:
            if not state.whole:
                self._forget(state)
            elif state in self._chats:
                self._bytes += state.bytes - self._chats[state]
                self._chats[state] = state.bytes
                state.busy = False
                self._file(state)
                while len(self._chats) > 1 and (
                    len(self._chats) > self._max_chats or self._bytes > self._max_bytes
                ):
                    self._forget(next(iter(self._chats)))

    def _take(self, state: GrownState) -> None:
        """Lock a state; while it may grow, it is not filed."""
        self._unfile(state)
        state.busy = True

    def _forget(self, state: GrownState) -> None:
        self._bytes -= self._chats.pop(state, 0)
        if not state.busy:
            self._unfile(state)

    def _file(self, state: GrownState) -> None:
        if state.entries and not state.flagged:
            ends = self._ends.setdefault(len(state.entries), {})
            ends.setdefault(state.entries[-1].key, []).append(state)

    def _unfile(self, state: GrownState) -> None:
        size = len(state.entries)
        if size not in self._ends or state.flagged:
            return
        ends, key = self._ends[size], state.entries[-1].key
        ends[key] = [other for other in ends.get(key, ()) if other is not state]
        if not ends[key]:
            del ends[key]
        if not ends:
            del self._ends[size]
