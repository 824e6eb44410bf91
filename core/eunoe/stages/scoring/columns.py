"""Columns of facts that do not come from words: days, speakers, vectors."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

import numpy as np
from numpy.typing import NDArray

from eunoe.stages.scoring.dates import CalendarDate, day_span
from eunoe.stages.scoring.signals import date_closeness

COLUMN_LAST_DAY = date.max.toordinal()
_COLUMN_FLAT = 1e-9


def day_column(
    dates: Sequence[CalendarDate], days: NDArray[np.int64], falloff: float
) -> NDArray[np.float64] | None:
    """Closeness of each message's day to the dates of a question.

    A date without a year is tried in every year of the conversation.

    Args:
        dates: Dates of the question.
        days: Day number of each message, 0 for unknown, shape (n,).
        falloff: Days after which the closeness falls to 1/e.

    Returns:
        Values in [0, 1], shape (n,), or None when there is nothing to compare.
    """
    known = np.unique(days[(days > 0) & (days <= COLUMN_LAST_DAY)])
    if not dates or not known.size:
        return None
    years = sorted({date.fromordinal(int(day)).year for day in known})
    spans = [
        day_span(value, year) for value in dates for year in ([value[0]] if value[0] else years)
    ]
    return date_closeness(days, tuple(span for span in spans if span[1]), falloff)


def speaker_column(speaker: NDArray[np.int32], meant: int) -> NDArray[np.float64]:
    """1 for messages of the speaker who is meant, -1 for other speakers, 0 for unknown."""
    return np.asarray(np.where(speaker == meant, 1.0, np.where(speaker >= 0, -1.0, 0.0)))


def vector_column(
    vectors: Sequence[NDArray[np.float32] | None], query: NDArray[np.float32]
) -> NDArray[np.float64] | None:
    """Cosine of each message with the question, in standard deviations from the mean.

    Args:
        vectors: Unit vector of each message, None where there is none.
        query: Unit vector of the question.

    Returns:
        Shape (n,), 0 (the mean) for messages without a usable vector; None when fewer than two
        have one, all are alike, or the question's is not finite.
    """
    rows = [
        i
        for i, vector in enumerate(vectors)
        if vector is not None and vector.shape == query.shape and bool(np.isfinite(vector).all())
    ]
    if len(rows) < 2 or not np.isfinite(query).all():
        return None
    known = [vector for vector in vectors if vector is not None]
    if len(known) != len(rows):
        chosen = set(rows)
        known = [v for i, v in enumerate(vectors) if i in chosen and v is not None]
    cosine = np.stack(known).astype(np.float64) @ query.astype(np.float64)
    spread = float(cosine.std())
    if spread < _COLUMN_FLAT:
        return None
    out = np.zeros(len(vectors))
    out[rows] = (cosine - cosine.mean()) / spread
    return out
