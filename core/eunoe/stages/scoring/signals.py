"""Signals: what a question and the messages have in common, one array per signal.

Small pure functions. A "column" holds one value per message, a "grid" one row per term of the
question and one column per message.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

SignalColumn = NDArray[np.float64]
SegmentColumn = NDArray[np.int64]


def inverse_frequency(holders: SignalColumn, messages: int) -> SignalColumn:
    """Weight of terms by rarity, always positive.

    Args:
        holders: Messages that hold the term, may be fractional, shape (terms,).
        messages: Messages in all.

    Source of formula: BM25's idf in the non-negative form ``ln(1 + (N - df + 1/2)/(df + 1/2))``.
    """
    return np.asarray(np.log(1.0 + (messages - holders + 0.5) / (holders + 0.5)))


def length_norm(length: SignalColumn, k1: float, b: float, mean: float) -> SignalColumn:
    """``k1 (1 - b + b length/mean)``: the denominator term of BM25."""
    return np.asarray(k1 * (1.0 - b + b * length / mean))


def term_presence(frequency: SignalColumn, norm: SignalColumn) -> SignalColumn:
    """Saturated presence ``f/(f + norm)`` in [0, 1): a term counts less in a long message.

    BM25 of a message is ``(k1 + 1) * idf @ presence``.

    Args:
        frequency: Term frequencies, shape (terms, messages).
        norm: From `length_norm`, positive, shape (messages,).
    """
    presence = frequency + norm
    return np.divide(frequency, presence, out=presence)


def bm25_column(
    frequency: SignalColumn, length: SignalColumn, idf: SignalColumn, k1: float, b: float
) -> SignalColumn:
    """Plain BM25 of every message with the mean length of these messages.

    Returns:
        ``sum_t idf_t f (k1+1) / (f + k1 (1 - b + b length/mean))``, shape (messages,).
    """
    mean = float(length.mean()) if length.size else 0.0
    norm = length_norm(length, k1, b, mean if mean > 0.0 else 1.0)
    return np.asarray((k1 + 1.0) * (idf @ term_presence(frequency, norm)))


def same_segment(segment: SegmentColumn, steps: int) -> SignalColumn:
    """1 where a message and the one `steps` before it are of one segment, else 0.

    Args:
        segment: Segment number of each message, shape (n,).
        steps: 1 or more.

    Returns:
        Shape (max(0, n - steps),), from the message at `steps` on.
    """
    return np.asarray(segment[steps:] == segment[:-steps], dtype=np.float64)


def nearby_presence(
    presence: SignalColumn, same: tuple[SignalColumn, SignalColumn], reach: float
) -> SignalColumn:
    """Noisy-or of each term's presence here and in the two messages before and after.

    ``1 - (1-s_i)(1-a s_{i-1})(1-a s_{i+1})(1-a^2 s_{i-2})(1-a^2 s_{i+2})`` inside a segment: a
    message answers a question together with what stands around it.

    Args:
        presence: ``s`` in [0, 1], shape (terms, n).
        same: `same_segment` for 1 and for 2 steps.
        reach: ``a`` in [0, 1].

    Returns:
        Grid of shape (terms, n).
    """
    missing = 1.0 - presence
    part, scratch = np.empty_like(presence), np.empty_like(presence)
    for steps, share in ((1, reach), (2, reach * reach)):
        beside = same[steps - 1]
        np.multiply(share, presence, out=part)
        other = scratch[:, steps:]
        np.multiply(part[:, :-steps], beside, out=other)
        missing[:, steps:] *= np.subtract(1.0, other, out=other)
        np.multiply(part[:, steps:], beside, out=other)
        missing[:, :-steps] *= np.subtract(1.0, other, out=other)
    return np.subtract(1.0, missing, out=missing)


def box_sum(values: SignalColumn, first: SegmentColumn, after: SegmentColumn) -> SignalColumn:
    """Sum over the messages ``first[i] .. after[i] - 1`` for every message i, shape (..., n)."""
    running = np.zeros((*values.shape[:-1], values.shape[-1] + 1))
    values.cumsum(axis=-1, out=running[..., 1:])
    total = running.take(after, axis=-1)
    total -= running.take(first, axis=-1)
    return total


def segment_starts(segment: SegmentColumn) -> SegmentColumn:
    """Index of the first message of each segment, shape (segments,)."""
    fresh = np.ones(segment.shape[0], dtype=np.bool_)
    fresh[1:] = segment[1:] != segment[:-1]
    return fresh.nonzero()[0]


def date_closeness(
    days: SegmentColumn, spans: tuple[tuple[int, int], ...], falloff: float
) -> SignalColumn:
    """How near each message's day is to one of the spans of days: ``exp(-gap/falloff)``.

    Args:
        days: Day numbers, 0 for unknown (closeness 0), shape (messages,).
        spans: First and last day of what the question names.
        falloff: Days after which the closeness falls to 1/e.
    """
    best = np.zeros(days.shape)
    for first, last in spans:
        gap = np.maximum(np.maximum(first - days, days - last), 0)
        best = np.maximum(best, np.exp(-gap / falloff))
    return np.asarray(np.where(days > 0, best, 0.0))


class Surroundings:
    """The messages up to `reach` before and after each message, inside its segment.

    Args:
        segment: Segment number of each message, ascending by one, shape (n,), n >= 1.
        length: Terms per message, shape (n,).
        reach: Messages on each side.
        k1: BM25 saturation.
        b: BM25 length normalisation, against the mean length of all surroundings.
        starts: `segment_starts` of the segments, when it is at hand.
    """

    def __init__(
        self,
        segment: SegmentColumn,
        length: SignalColumn,
        *,
        reach: int,
        k1: float,
        b: float,
        starts: SegmentColumn | None = None,
    ) -> None:
        size = segment.shape[0]
        starts = segment_starts(segment) if starts is None else starts
        bounds = np.concatenate([starts, [size]])
        number = segment - segment[0]
        place = np.arange(size)
        self._first = np.maximum(place - reach, bounds.take(number))
        self._after = np.minimum(place + reach + 1, bounds.take(number + 1))
        total = box_sum(length, self._first, self._after)
        mean = float(np.add.reduce(total)) / size
        self._norm = length_norm(total, k1, b, max(1.0, mean))

    def presence(self, counts: SignalColumn) -> SignalColumn:
        """Saturated presence of terms in the surroundings of every message, shape (terms, n).

        Args:
            counts: How often each message holds each term, shape (terms, n).
        """
        return term_presence(box_sum(counts, self._first, self._after), self._norm)
