"""A column of whole numbers beside a growing list."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import numpy as np


class GrowingColumn:
    """A column of whole numbers that grows at its end; an array for numpy is made when asked for.

    A request looks at a few of the columns of its chat, all of which grow at each turn.
    """

    def __init__(self, values: Sequence[int] = ()) -> None:
        self._values = array("q", values)
        self._shown = np.zeros(0, dtype=np.int64)

    def extend(self, values: Sequence[int]) -> None:
        """Append some values."""
        self._values.extend(values)

    def add_up(self, values: Sequence[int]) -> None:
        """Append the running sum: the last value and what is added to it."""
        total = self._values[-1]
        self._values.extend([total := total + value for value in values])

    def view(self) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """Shape (n,); not to be written to.

        It is copied in one step: a column that another thread is looking into could not grow.
        """
        if len(self._shown) != len(self._values):
            self._shown = np.frombuffer(self._values.tobytes(), np.int64)
        return self._shown

    def __len__(self) -> int:
        return len(self._values)
