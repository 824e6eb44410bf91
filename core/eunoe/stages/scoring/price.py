"""The price of length: what a message is worth under a budget."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

PRICE_EXPONENT = 0.75


def price_relevance(
    values: NDArray[np.float64],
    tokens: NDArray[np.int64] | NDArray[np.float64],
    *,
    exponent: float = PRICE_EXPONENT,
) -> NDArray[np.float64]:
    """Utility for ranking under a budget: odds of relevance per (softened) token.

    ``u = r/(1-r) / tokens**exponent``. Filling the budget in descending order of `u` is the density
    greedy of the knapsack problem; odds instead of probabilities keep certain hits in front, an
    exponent below 1 keeps the budget from filling with greetings.

    Args:
        values: Relevance in [0, 1], shape (n,).
        tokens: Cost of each message, at least 1 is charged, shape (n,).
        exponent: 0 ranks by relevance alone, 1 by odds per token.

    Returns:
        Utilities >= 0, shape (n,); order them descending, ties by position.
    """
    bounded = np.minimum(np.maximum(np.asarray(values, dtype=np.float64), 0.0), 1.0 - 1e-12)
    cost = np.maximum(1.0, np.asarray(tokens, dtype=np.float64))
    return np.asarray(bounded / (1.0 - bounded) / cost**exponent)
