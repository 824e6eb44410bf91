"""Columns that grow with a chat: what no question changes is found once for each message."""

from __future__ import annotations

from collections.abc import Mapping

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
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def extend(self, values: Mapping[str, NDArray[np.float64]]) -> None:
        """Append values, as many to each column; columns that are not named get zeros."""
        more = max(map(len, values.values()), default=0)
        size = self._size + more
        if size > self._grid.shape[1]:
            grid = np.zeros((len(self._row), max(64, size, self._size * 3 // 2)))
            grid[:, : self._size] = self._grid[:, : self._size]
            self._grid = grid
        for name, column in values.items():
            self._grid[self._row[name], self._size : size] = column
        self._size = size

    def column(self, name: str, upto: int) -> NDArray[np.float64]:
        """The first values of a column, shape (upto,); not to be written to."""
        view = self._grid[self._row[name], :upto]
        view.flags.writeable = False
        return view
