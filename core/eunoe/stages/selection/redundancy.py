"""How strongly likeness counts in this pool of candidates: beta.

Source: beta = low + (high - low) * ratio, distances d = arccos(cos) / pi. "ratio" mode: mean over
maximum distance, which measures evenness and hardly moves; "absolute" mode (default): mean distance
over that of unrelated vectors, 0.5, so that a pool of near copies and a diverse pool differ.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eunoe.stages.selection.candidates import SparseSimilarity

BetaMode = Literal["absolute", "ratio"]

BETA_LOW = 0.3
BETA_HIGH = 0.7
BETA_SAMPLE = 200
BETA_SEED = 42

_BETA_UNRELATED = 0.5
_BETA_FLAT = 1e-12
_LCG_MULTIPLIER = 6364136223846793005
_LCG_INCREMENT = 1442695040888963407
_LCG_MASK = (1 << 64) - 1


def sample_positions(
    size: int, count: int = BETA_SAMPLE, seed: int = BETA_SEED
) -> NDArray[np.intp]:
    """Positions drawn without replacement, the same on every machine and in every version.

    Args:
        size: how many there are.
        count: how many to draw; all are returned when there are not more.
        seed: start of the sequence.

    Returns:
        Shape (min(size, count),), ascending.

    Source:
        Partial Fisher-Yates shuffle driven by Knuth's MMIX linear congruential generator.
    """
    if size <= count:
        return np.arange(size, dtype=np.intp)
    state = seed & _LCG_MASK
    moved: dict[int, int] = {}
    drawn: list[int] = []
    for place in range(count):
        state = (state * _LCG_MULTIPLIER + _LCG_INCREMENT) & _LCG_MASK
        other = place + (((state >> 32) * (size - place)) >> 32)
        drawn.append(moved.get(other, other))
        moved[other] = moved.get(place, place)
    return np.asarray(sorted(drawn), dtype=np.intp)


def estimate_beta(
    cosine: ArrayLike,
    *,
    mode: BetaMode = "absolute",
    low: float = BETA_LOW,
    high: float = BETA_HIGH,
) -> float:
    """Beta from all pairs of a small pool.

    Args:
        cosine: shape (n, n), symmetric; for larger pools the rows of ``sample_positions``. A value
            that is not a number counts as unrelated.
        mode: "absolute" or "ratio".
        low: least beta, for a pool of copies.
        high: largest beta, for a diverse pool.

    Returns:
        In [low, high]; ``low`` for fewer than 2 items or when all are equal.

    Raises:
        ValueError: the matrix is not square, or the bounds are not in order in [0, 1].
    """
    _check_beta_bounds(low, high)
    matrix = np.asarray(cosine, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"cosine has shape {matrix.shape}, allowed: (n, n)")
    if matrix.shape[0] < 2:
        return low
    pairs = matrix[np.triu_indices(matrix.shape[0], 1)]
    distance = np.arccos(np.clip(np.nan_to_num(pairs, nan=0.0), -1.0, 1.0)) / np.pi
    return _beta_from(float(distance.mean()), float(distance.max()), mode, low, high)


def estimate_beta_sparse(
    similarity: SparseSimilarity | None,
    *,
    mode: BetaMode = "absolute",
    low: float = BETA_LOW,
    high: float = BETA_HIGH,
) -> float:
    """Beta from sparse rows: a pair that is not stored counts as unrelated.

    Args:
        similarity: n rows; None stands for a pool of unrelated items.
        mode: "absolute" or "ratio".
        low: least beta.
        high: largest beta.

    Returns:
        In [low, high].

    Raises:
        ValueError: the bounds are not in order in [0, 1].

    Note:
        Rows cut to the nearest neighbours hide likeness, so beta is then an upper estimate.
    """
    _check_beta_bounds(low, high)
    if similarity is None:
        return high
    if similarity.size < 2:
        return low
    pairs = similarity.size * (similarity.size - 1)
    distance = np.arccos(similarity.values) / np.pi
    missing = pairs - distance.size
    total = float(distance.sum()) + missing * _BETA_UNRELATED
    largest = _BETA_UNRELATED if missing else float(distance.max())
    return _beta_from(total / pairs, largest, mode, low, high)


def _beta_from(mean: float, largest: float, mode: BetaMode, low: float, high: float) -> float:
    """Beta from the mean and the largest distance, both in [0, 1]."""
    if largest < _BETA_FLAT:
        return low
    if mode == "absolute":
        ratio = mean / _BETA_UNRELATED
    elif mode == "ratio":
        ratio = mean / largest
    else:
        raise ValueError(f"mode is {mode!r}; allowed: 'absolute', 'ratio'")
    return low + (high - low) * min(1.0, ratio)


def _check_beta_bounds(low: float, high: float) -> None:
    if not 0.0 <= low <= high <= 1.0:
        raise ValueError(f"beta bounds are {low!r}, {high!r}; allowed: 0 <= low <= high <= 1")
