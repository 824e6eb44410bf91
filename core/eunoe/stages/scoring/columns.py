"""Columns of facts that do not come from words: days, speakers, labels."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

import numpy as np
from numpy.typing import NDArray

from eunoe.stages.scoring.dates import CalendarDate, day_span
from eunoe.stages.scoring.signals import date_closeness

COLUMN_LAST_DAY = date.max.toordinal()
COLUMN_MEDIUM = 0.5
"""Label of a message that is neither needed nor useless."""

COLUMN_LEAST_LABEL = 0.05


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
    if not dates:
        return None
    known = set(days[(days > 0) & (days <= COLUMN_LAST_DAY)].tolist())
    if not known:
        return None
    years = sorted({date.fromordinal(day).year for day in known})
    spans = [
        day_span(value, year) for value in dates for year in ([value[0]] if value[0] else years)
    ]
    return date_closeness(days, tuple(span for span in spans if span[1]), falloff)


def speaker_column(speaker: NDArray[np.int32], meant: int) -> NDArray[np.float64]:
    """1 for messages of the speaker who is meant, -1 for other speakers, 0 for unknown."""
    return np.asarray(np.where(speaker == meant, 1.0, np.where(speaker >= 0, -1.0, 0.0)))


def label_column(labels: NDArray[np.float64]) -> NDArray[np.float64]:
    """What a label adds to the log-odds, per unit of its weight: ``ln(label / COLUMN_MEDIUM)``.

    So a label multiplies the odds of the priors; a message without one counts as medium.

    Args:
        labels: In [0, 1], NaN for none, shape (n,).
    """
    known = np.isfinite(labels)
    bounded = np.where(known, np.clip(labels, COLUMN_LEAST_LABEL, 1.0), COLUMN_MEDIUM)
    return np.asarray(np.log(bounded / COLUMN_MEDIUM))
