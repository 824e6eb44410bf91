"""The values of a chat with tools: ids, codes, amounts, dates, addresses and names.

The next call passes some of them, and the question that leads to it seldom names them. So what a
message is worth there is the values that no other message in view holds.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

VALUE_SPOKEN = 2.0
"""Weight of a value that a person, an answer or a call has used; 1 if it only lies in a result."""

_VALUE_CHARACTERS = 40_000
_VALUE = re.compile(
    r"(?<![\w.:#@/+-])(?:[^\W\d_]|[.:#/+-])*+[\d_@][\w.:#@/+-]*|[A-ZÀ-ÖØ-ÞА-Я][^\W\d_]{3,}"
)
"""Tried once a run of such characters, not at each: of base64 there may be a lot of them."""
_VALUE_EDGES = ".:#/+-_"
_VALUE_LEAST, _VALUE_MOST = 4, 80


def find_values(text: str) -> list[str]:
    """Distinct values of a text in order of first use: 4 to 80 characters each.

    A value is a word with a digit, an underscore or an ``@`` in it, or a capitalised word. Of a
    longer text the first 40,000 characters are read.
    """
    found = (word.strip(_VALUE_EDGES) for word in _VALUE.findall(text[:_VALUE_CHARACTERS]))
    return list(dict.fromkeys(v for v in found if _VALUE_LEAST <= len(v) <= _VALUE_MOST))


class ValueRows:
    """Which values each message of a growing list holds, and which have been used."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._indptr = array("q", (0,))
        self._values = array("q")
        self._used = array("q")

    def __len__(self) -> int:
        return len(self._indptr) - 1

    def append(self, spoken: str, found: str) -> None:
        """Add a message.

        Args:
            spoken: what a person, an answer or a call says in it.
            found: what a tool returned in it.
        """
        own = self._number(find_values(spoken))
        self._values.extend(dict.fromkeys([*own, *self._number(find_values(found))]))
        self._indptr.append(len(self._values))
        # The first message that uses a value, by its number.
        self._used.extend([-1] * (len(self._numbers) - len(self._used)))
        place = len(self) - 1
        for number in own:
            if self._used[number] < 0:
                self._used[number] = place

    def _number(self, values: Iterable[str]) -> list[int]:
        numbers = self._numbers
        return [numbers.setdefault(value, len(numbers)) for value in values]

    def of(self, message: int) -> list[int]:
        """Numbers of the values that a message holds."""
        return self._values[self._indptr[message] : self._indptr[message + 1]].tolist()

    def weights(self, upto: int) -> NDArray[np.float64]:
        """Weight of every value as the first ``upto`` messages know it, shape (values,).

        ``VALUE_SPOKEN`` or 1, times 1 to 2 by how late it was last held. 0 for what comes later.
        """
        stop = self._indptr[upto]
        values = np.array(self._values[:stop], dtype=np.int64)
        rows = np.repeat(np.arange(upto), np.diff(np.array(self._indptr[: upto + 1])))
        latest = np.zeros(len(self._numbers))
        np.maximum.at(latest, values, rows + 1.0)
        used = np.array(self._used, dtype=np.int64)
        spoken = np.where((used >= 0) & (used < upto), VALUE_SPOKEN, 1.0)
        return np.where(latest > 0.0, spoken * (1.0 + latest / max(1, upto)), 0.0)
