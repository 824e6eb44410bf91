"""Columns that grow with a chat: what no question changes is found once for each message."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


class GrownColumns:
    """Columns of numbers of the same length; append only.

    Args:
        names: Of the columns.
    """

    def __init__(self, *names: str) -> None:
        self._row = {name: row for row, name in enumerate(names)}
        self._grid = np.zeros((len(names), 0))
        self._shown = self._grid
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def append(self, more: int) -> NDArray[np.float64]:
        """Append so many zeros to each column; shape (columns, more), to be written to at once."""
        start, self._size = self._size, self._size + more
        if self._size > self._grid.shape[1]:
            grid = np.zeros((len(self._row), max(64, self._size, start * 3 // 2)))
            grid[:, :start] = self._grid[:, :start]
            self._grid, self._shown = grid, grid.view()
            self._shown.flags.writeable = False
        return self._grid[:, start : self._size]

    def column(self, name: str, upto: int) -> NDArray[np.float64]:
        """The first values of a column, shape (upto,); not to be written to."""
        return self._shown[self._row[name], :upto]
