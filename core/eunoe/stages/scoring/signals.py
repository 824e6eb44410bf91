"""Signals: what a question and the messages have in common, one array per signal.

Small pure functions over arrays; a "column" is one value per message.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

SignalColumn = NDArray[np.float64]
SegmentColumn = NDArray[np.int64]


def inverse_frequency(holders: SignalColumn, messages: int) -> SignalColumn:
    """``ln(1 + (N - df + 1/2) / (df + 1/2))`` per term, always positive.

    Source of formula: BM25 with the non-negative idf of Lucene.
    """
    return np.asarray(np.log(1.0 + (messages - holders + 0.5) / (holders + 0.5)))


def bm25_column(
    frequency: SignalColumn, length: SignalColumn, idf: SignalColumn, k1: float, b: float
) -> SignalColumn:
    """BM25 of every message.

    Args:
        frequency: Term frequencies, shape (terms, messages).
        length: Terms per message, shape (messages,).
        idf: Weight per term, shape (terms,).
        k1: Saturation of repeated terms.
        b: Strength of the length normalisation, 0 to 1.

    Returns:
        ``sum_t idf_t f (k1+1) / (f + k1 (1 - b + b length/mean))``, shape (messages,).
    """
    mean = float(length.mean()) if length.size else 0.0
    norm = k1 * (1.0 - b + b * length / mean) if mean > 0.0 else np.full(length.shape, k1)
    return np.asarray(idf @ (frequency * (k1 + 1.0) / (frequency + norm)))


def shift_column(values: SignalColumn, steps: int, segment: SegmentColumn) -> SignalColumn:
    """Value of the message `steps` before (negative: after) inside the same segment, else 0.

    Args:
        values: Last axis runs over messages.
        steps: Distance in messages.
        segment: Segment number of each message.
    """
    out = np.zeros_like(values)
    size = values.shape[-1]
    if steps == 0 or abs(steps) >= size:
        return values.copy() if steps == 0 else out
    if steps > 0:
        out[..., steps:] = values[..., :-steps] * (segment[steps:] == segment[:-steps])
    else:
        out[..., :steps] = values[..., -steps:] * (segment[:steps] == segment[-steps:])
    return out
