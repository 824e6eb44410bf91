"""A column of whole numbers beside a growing list."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

_FEW = 8


class GrowingColumn:
    """A column of whole numbers that grows at its end, doubling its room."""

    def __init__(self, values: Sequence[int] = ()) -> None:
        self._values = np.zeros(64, dtype=np.int64)
        self._size = 0
        self.extend(values)

    def extend(self, values: Sequence[int]) -> None:
        """Append some values."""
        size, needed = self._size, self._size + len(values)
        if needed > len(self._values):
            grown = np.zeros(max(needed, 2 * len(self._values)), dtype=np.int64)
            grown[:size] = self._values[:size]
            self._values = grown
        if len(values) <= _FEW:  # sooner done one by one than made an array
            for value in values:
                self._values[size] = value
                size += 1
        else:
            self._values[size:needed] = values
        self._size = needed

    def add_up(self, values: Sequence[int]) -> None:
        """Append the running sum: the last value and what is added to it."""
        total = self._values.item(self._size - 1)
        self.extend([total := total + value for value in values])

    def view(self) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """Shape (n,); not to be written to."""
        return self._values[: self._size]

    def __len__(self) -> int:
        return self._size
