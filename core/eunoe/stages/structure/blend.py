"""Joining direct relevance and graph rank, and what tilts the balance."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

BLEND_START = 0.5
BLEND_LOWEST = 0.1
BLEND_HIGHEST = 0.95
BLEND_ENTROPY_GAIN = 0.4
BLEND_PRESSURE_GAIN = 0.3
BLEND_FLOOR = 0.01


def normal_cosine(cosine: float) -> float:
    """``(1 + x)/2`` of a cosine clipped to [-1, 1]; 0.5 is neutral (H0)."""
    return (1.0 + min(1.0, max(-1.0, cosine))) / 2.0


def normal_entropy(weights: NDArray[np.float64]) -> float:
    """``-sum p ln p / ln n`` of weights >= 0 in [0, 1]; 0 for fewer than two (H8)."""
    total = float(weights.sum())
    if weights.size < 2 or total <= 0.0:
        return 0.0
    p = weights[weights > 0.0] / total
    return float(min(1.0, max(0.0, -(p * np.log(p)).sum() / np.log(weights.size))))


def budget_pressure(budget: float, total: float) -> float:
    """Share of the tokens that cannot be kept: ``clip(1 - budget/total, 0, 1)``."""
    return min(1.0, max(0.0, 1.0 - budget / total)) if total > 0.0 else 0.0


def direct_share(entropy: float, pressure: float) -> float:
    """Weight of direct relevance against graph rank (H9, H10).

    ``clip(0.5 + 0.4 (entropy - 0.5) + 0.3 pressure**2, 0.1, 0.95)``: a rank spread evenly says
    little, a tight budget trusts the question.
    """
    share = BLEND_START + BLEND_ENTROPY_GAIN * (entropy - 0.5) + BLEND_PRESSURE_GAIN * pressure**2
    return min(BLEND_HIGHEST, max(BLEND_LOWEST, share))


def blend_rank(
    direct: NDArray[np.float64], rank: NDArray[np.float64], share: float
) -> NDArray[np.float64]:
    """``max(0.01, share * direct + (1-share) * rank/max(rank))`` (H11).

    Args:
        direct: Relevance in [0, 1], shape (n,).
        rank: Graph rank >= 0, shape (n,).
        share: Weight of `direct` in [0, 1].
    """
    top = float(rank.max(initial=0.0))
    scaled = rank / top if top > 0.0 else rank
    return np.asarray(np.maximum(BLEND_FLOOR, share * direct + (1.0 - share) * scaled))
