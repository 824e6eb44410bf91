"""Cutting a conversation into segments while it grows."""

from __future__ import annotations

from array import array

import numpy as np
from numpy.typing import NDArray


class SegmentTrack:
    """Segment and time of each message.

    A dated message starts a segment when more than `gap` minutes have passed; in stretches without
    any date a segment ends at the first user message after `size` messages. Only what came before
    decides, so a longer chat never changes earlier segments.
    """

    def __init__(self, gap: int, size: int) -> None:
        self._gap = gap
        self._size = size
        self._segment = array("i")
        self._stamp = array("q")
        self._held = 0
        self._dated = False

    def append(self, stamp: int, role: str) -> None:
        """Add the next message (`stamp` in minutes, 0 for unknown)."""
        first = not self._segment
        last = 0 if first else self._stamp[-1]
        if first:
            new = True
        elif stamp:
            new = abs(stamp - last) > self._gap
        else:
            new = not self._dated and self._held >= self._size and role == "user"
        if new:
            self._held = 0
            self._dated = stamp > 0
        self._held += 1
        number = -1 if first else self._segment[-1]
        self._segment.append(number + new)
        self._stamp.append(stamp or last)

    def column(self, upto: int) -> NDArray[np.int64]:
        """Segment number of each message, shape (upto,)."""
        return np.frombuffer(self._segment, np.int32, upto).astype(np.int64)

    def days(self, upto: int) -> NDArray[np.int64]:
        """Day number of each message, 0 for unknown, shape (upto,)."""
        return np.array(self._stamp[:upto], dtype=np.int64) // 1440
