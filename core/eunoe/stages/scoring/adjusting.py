"""Adjust relevance by what a message is: tool flow counts less, question and answer share.

Source: role factor and pair coherence of lethes, with a turn in place of two neighbours, so that a
tool step between question and answer takes nothing away from the answer.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

ADJUST_QUESTION = 1
ADJUST_ANSWER = 2
ADJUST_TOOL = 3


def share_within_turns(
    values: NDArray[np.float64],
    kinds: NDArray[np.int8],
    turns: NDArray[np.int64],
    share: float,
    *,
    mutual: bool = True,
) -> NDArray[np.float64]:
    """Answers raised towards the best question of their turn, and questions towards its answers.

    ``max(r, share * best of the other kind in the turn)``, both from the values as given. Nothing
    is lowered; tool flow and other messages neither give nor take.

    Args:
        values: Relevance, shape (n,).
        kinds: ``ADJUST_QUESTION``, ``ADJUST_ANSWER``, ``ADJUST_TOOL`` or another, shape (n,).
        turns: Turn number of each message, >= 0, shape (n,).
        share: In [0, 1].
        mutual: Whether questions take from answers too.
    """
    out = values.copy()
    if not values.size:
        return out
    ways = [(ADJUST_QUESTION, ADJUST_ANSWER)]
    if mutual:
        ways.append((ADJUST_ANSWER, ADJUST_QUESTION))
    for giver, taker in ways:
        best = np.zeros(int(turns.max()) + 1)
        gives, takes = kinds == giver, kinds == taker
        np.maximum.at(best, turns[gives], values[gives])
        out[takes] = np.maximum(values[takes], share * best[turns[takes]])
    return out


def weigh_tool_flow(
    values: NDArray[np.float64], kinds: NDArray[np.int8], factor: float
) -> NDArray[np.float64]:
    """Relevance with that of calls and their results times a factor in [0, 1], shape (n,)."""
    return np.asarray(values * np.where(kinds == ADJUST_TOOL, factor, 1.0))
