"""Newer values of the same thing: which statements have been overtaken."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

SUPERSEDE_SHARE = 0.6

_SUPERSEDE_ASSIGNMENT = re.compile(
    r"\b((?:[\w'-]{1,30} ){0,3}[\w'-]{1,30}?)\s?"
    r"(?:\bis now\b|\bare now\b|\bis\b|\bwas\b|=|:|\bto be\b)\s*"
    r"([$€£]?\d[\w.,:%/-]*)",
    re.IGNORECASE,
)
_SUPERSEDE_FILL = frozenset(
    "the a an my our your his her its their that this new current now".split()
)


def stated_values(text: str) -> dict[str, str]:
    """Things and the value a text gives them ("the deadline is 12 May" -> deadline: 12).

    Only values that start with a digit or a currency sign count; the last one in a text wins.
    """
    out: dict[str, str] = {}
    for found in _SUPERSEDE_ASSIGNMENT.finditer(text[:20_000]):
        words = [w for w in found.group(1).lower().split() if w not in _SUPERSEDE_FILL]
        if words:
            out[" ".join(words[-2:])] = found.group(2).rstrip(".,:")
    return out


def superseded(values: Sequence[dict[str, str]]) -> NDArray[np.bool_]:
    """Messages all of whose stated values a later message changed.

    Args:
        values: From `stated_values`, one per message in order.

    Returns:
        Flags, shape (n,); False for messages that state nothing.
    """
    latest: dict[str, str] = {}
    out = np.zeros(len(values), dtype=bool)
    for i in range(len(values) - 1, -1, -1):
        stated = values[i]
        if stated:
            out[i] = all(thing in latest and latest[thing] != v for thing, v in stated.items())
            for thing, value in stated.items():
                latest.setdefault(thing, value)
    return out


def discount_superseded(
    relevance: NDArray[np.float64],
    overtaken: NDArray[np.bool_],
    *,
    share: float = SUPERSEDE_SHARE,
    history: bool = False,
) -> NDArray[np.float64]:
    """``r * (1 - share)`` for overtaken messages; unchanged when history is asked for."""
    if history:
        return relevance.copy()
    return np.asarray(relevance * np.where(overtaken, 1.0 - share, 1.0))
