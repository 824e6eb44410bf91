"""How fast a local model reads a prompt, from the timings of its server: what a cache saves there.

Source: llama.cpp's ``timings``: ``prompt_n`` tokens were read in ``prompt_ms``, ``cache_n`` more
came from the cache. Hosts put them beside the usage, or into it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_SPEEDS_REMEMBERED = 9
# A handful of tokens takes as long as a whole batch: it says nothing about long prompts.
_LEAST_TOKENS_READ = 32


@dataclass(frozen=True, slots=True)
class ReadingSpeed:
    """What the newest few answers say of the time that a prompt takes.

    Attributes:
        milliseconds: for a token, oldest first; at most 9, above 0.
    """

    milliseconds: tuple[float, ...] = ()

    def learn(self, usage: object) -> ReadingSpeed:
        """Take in one report; the same speed if it has no timings or read next to nothing."""
        for timings in _timings_in(usage):
            read = _above_zero(timings.get("prompt_n"))
            taken = _above_zero(timings.get("prompt_ms"))
            if taken and read >= _LEAST_TOKENS_READ:
                return ReadingSpeed((*self.milliseconds, taken / read)[-_SPEEDS_REMEMBERED:])
        return self

    def seconds(self, tokens: int) -> float:
        """What reading so many tokens would take at the best speed seen; 0 if none was."""
        return tokens * min(self.milliseconds, default=0.0) / 1000


def _timings_in(usage: object) -> list[Mapping[Any, Any]]:
    if not isinstance(usage, Mapping):
        return []
    inner = (usage.get("timings"), usage.get("usage"))
    return [usage, *(value for value in inner if isinstance(value, Mapping))]


def _above_zero(value: object) -> float:
    """The number; 0 for what is none, or not above 0."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0.0
    return float(value) if 0 < value < math.inf else 0.0
