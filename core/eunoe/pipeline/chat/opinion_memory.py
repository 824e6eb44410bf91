"""What models said of texts, remembered by content: vectors of messages, labels to questions."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Sequence
from typing import Generic, TypeVar

Opinion = TypeVar("Opinion")


class OpinionMemory(Generic[Opinion]):
    """Values by key, bounded in size: two generations, the older one is dropped when full.

    Safe across threads.

    Args:
        max_size: bound on the sizes of all values, in the unit that ``put`` is told.
    """

    def __init__(self, max_size: int) -> None:
        self._half = max(1, max_size // 2)
        self._young: dict[Hashable, tuple[Opinion, int]] = {}
        self._old: dict[Hashable, tuple[Opinion, int]] = {}
        self._size = 0
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> Opinion | None:
        """The value; None if it is not known, or not any more."""
        found = self._young.get(key)
        if found is not None:
            return found[0]
        with self._lock:
            found = self._young.get(key)  # another thread may just have moved it here
            if found is None:
                found = self._old.pop(key, None)
                if found is None:
                    return None
                self._keep(key, found)
            return found[0]

    def get_all(self, keys: Sequence[Hashable]) -> list[Opinion | None]:
        """The value of each of many keys."""
        young = self._young
        return [held[0] if (held := young.get(key)) is not None else self.get(key) for key in keys]

    def put(self, key: Hashable, value: Opinion, size: int) -> None:
        """Remember a value; the one that was first stays."""
        with self._lock:
            if key not in self._young:
                self._keep(key, self._old.pop(key, (value, size)))

    def _keep(self, key: Hashable, held: tuple[Opinion, int]) -> None:
        self._young[key] = held
        self._size += held[1]
        if self._size > self._half:
            self._old, self._young, self._size = self._young, {}, 0
