"""The price of length: what a message is worth under a budget."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

PRICE_FREE_TOKENS = 120.0
PRICE_EXPONENT = 2.0


def price_relevance(
    values: NDArray[np.float64],
    tokens: NDArray[np.int64] | NDArray[np.float64],
    *,
    free: float = PRICE_FREE_TOKENS,
    exponent: float = PRICE_EXPONENT,
) -> NDArray[np.float64]:
    """Utility for ranking under a budget: odds of relevance, discounted for length.

    ``u = r/(1-r) * (free / max(free, tokens))**exponent``: up to `free` tokens nothing is paid, a
    message of twice that must have four times the odds. Ranking by `u` and filling the budget is a
    soft density knapsack: a hard ``r/tokens`` would fill the budget with greetings.

    Args:
        values: Relevance in [0, 1], shape (n,).
        tokens: Cost of each message, shape (n,).
        free: Tokens without a price.
        exponent: Steepness of the price.

    Returns:
        Utilities >= 0, shape (n,); order them descending.
    """
    bounded = np.clip(values, 0.0, 1.0 - 1e-9)
    length = np.maximum(free, np.asarray(tokens, dtype=np.float64))
    return np.asarray(bounded / (1.0 - bounded) * (free / length) ** exponent)
