"""Relevance as a waveform over turns: spans that stand out, and lifting what lies in them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

WAVE_GAIN_THRESHOLD = 0.6
WAVE_SPAN_THRESHOLD = 1.0
WAVE_COHERENCE = 0.4
WAVE_HALO = 0.25
WAVE_FLAT = 1e-9


def gain_wave(
    values: NDArray[np.float64], *, threshold: float = WAVE_GAIN_THRESHOLD
) -> NDArray[np.float64]:
    """``(x - mean)/std - threshold`` with the population deviation (H22, H23).

    Returns:
        Gains, shape (n,); all ``-threshold`` when the values are flat or not finite.
    """
    if values.size == 0:
        return np.zeros(0)
    spread = float(values.std())
    if not np.isfinite(values).all() or spread < WAVE_FLAT:
        return np.full(values.shape, -threshold)
    return np.asarray((values - values.mean()) / spread - threshold)


def maximal_spans(gains: Sequence[float]) -> list[tuple[int, int, float]]:
    """All maximal scoring runs of a sequence, left to right, in linear time.

    Equals taking the run with the greatest sum, then the greatest in each rest, and so on.

    Args:
        gains: Numbers of either sign.

    Returns:
        Triples (first, last, sum), sums positive.

    Source of formula: Ruzzo and Tompa, 1999.
    """
    running = 0.0
    found: list[tuple[float, float, int, int]] = []
    for i, gain in enumerate(gains):
        left = running
        running += gain
        if gain <= 0.0:
            continue
        start, right = i, running
        k = len(found)
        while True:
            j = k - 1
            while j >= 0 and found[j][0] >= left:
                j -= 1
            if j < 0 or found[j][1] >= right:
                found[k:] = [(left, right, start, i)]
                break
            left, start, k = found[j][0], found[j][2], j
    return [(start, end, right - left) for left, right, start, end in found]


def standing_spans(
    values: NDArray[np.float64],
    *,
    gain_threshold: float = WAVE_GAIN_THRESHOLD,
    span_threshold: float = WAVE_SPAN_THRESHOLD,
) -> list[tuple[int, int, float]]:
    """Runs of turns whose summed gain reaches the threshold, in order (H24).

    Args:
        values: One relevance per turn.
        gain_threshold: Standard deviations above the mean that count as nothing.
        span_threshold: Least sum of a span.
    """
    gains = gain_wave(values, threshold=gain_threshold)
    return [span for span in maximal_spans(gains.tolist()) if span[2] >= span_threshold]


def standing_places(fits: Sequence[float], bounds: Sequence[int]) -> list[tuple[int, int]]:
    """Stretches of messages whose turns stand out, for pictures: first and last message of each.

    The wave of a turn is the square root of its best fit, in standard deviations.

    Args:
        fits: one for each message, 0 or above.
        bounds: where turns begin, and the end; what reaches behind ``fits`` is left out.
    """
    ends = [(a, b) for a, b in pairwise(bounds) if b <= len(fits)]
    if not ends or not any(fits):
        return []
    wave = np.sqrt(np.array([max(fits[a:b], default=0.0) for a, b in ends]))
    return [(ends[a][0], ends[b][1] - 1) for a, b, _ in standing_spans(wave)]


def lift_spans(
    relevance: NDArray[np.float64],
    turn: NDArray[np.int64],
    *,
    coherence: float = WAVE_COHERENCE,
    halo: float = WAVE_HALO,
) -> NDArray[np.float64]:
    """Raise messages that lie in a span, or beside a peak, towards the peak.

    In a span: ``max(r, coherence * peak)``; in a turn beside one with a gain above 1:
    ``max(r, halo * its relevance)``. Nothing is lowered.

    Args:
        relevance: Relevance in [0, 1], shape (n,).
        turn: Turn number of each message, ascending, shape (n,).
        coherence: Share of the peak that its span gets.
        halo: Share of a peak that its neighbours get.
    """
    if relevance.size == 0:
        return relevance.copy()
    starts = np.concatenate([np.zeros(1, dtype=np.int64), np.flatnonzero(np.diff(turn)) + 1])
    if starts.size < 2:
        return relevance.copy()
    wave = np.maximum.reduceat(relevance, starts)
    gains = gain_wave(wave)
    floor = np.zeros(wave.shape)
    for first, last, _ in standing_spans(wave):
        inside = slice(first, last + 1)
        floor[inside] = np.maximum(floor[inside], coherence * float(wave[inside].max()))
    peaks = np.where(gains > 1.0, halo * wave, 0.0)
    floor[:-1] = np.maximum(floor[:-1], peaks[1:])
    floor[1:] = np.maximum(floor[1:], peaks[:-1])
    sizes = np.diff(np.append(starts, relevance.size))
    return np.asarray(np.maximum(relevance, np.repeat(floor, sizes)))


def age_decay(
    age: NDArray[np.float64], *, rate: float = 0.98, floor: float = 0.5, off: bool = False
) -> NDArray[np.float64]:
    """``floor + (1-floor) rate**age``: bounded forgetting, none when `off` (H25, bounded).

    Args:
        age: Turns since, >= 0.
        rate: Share kept per turn.
        floor: What the oldest keep; 0 gives plain exponential decay.
        off: True for questions that point back or name a date.
    """
    if off:
        return np.ones(age.shape)
    return np.asarray(floor + (1.0 - floor) * rate ** np.maximum(0.0, age))
