"""What a message is, whatever is asked: flags of it, and what they add to the log-odds."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from eunoe.stages.scoring.analysis import TextAnalysis
from eunoe.stages.scoring.settings import SignalWeights
from eunoe.stages.scoring.word_tables import MARK_FIRST_PERSON

PRIOR_FLAG_TIME = 1
PRIOR_FLAG_STANDING = 2
PRIOR_FLAG_FIRST_PERSON = 4
PRIOR_FLAG_TOOL = 8
PRIOR_ALL_FLAGS = 16


def prior_flags(analysis: TextAnalysis) -> int:
    """Combination of the ``PRIOR_FLAG_*`` bits of a message."""
    return (
        PRIOR_FLAG_TIME * analysis.timed
        | PRIOR_FLAG_STANDING * analysis.standing
        | PRIOR_FLAG_FIRST_PERSON * (analysis.marks & MARK_FIRST_PERSON != 0)
        | PRIOR_FLAG_TOOL * (analysis.role in ("tool", "function"))
    )


@lru_cache(maxsize=32)
def priors_by_flags(weights: SignalWeights) -> NDArray[np.float64]:
    """What flags add to the log-odds, by their combination.

    Returns:
        Rows for what stands, the first person, and tools; shape (3, ``PRIOR_ALL_FLAGS``), not to be
        written to.
    """
    flags = np.arange(PRIOR_ALL_FLAGS)
    told = (
        (PRIOR_FLAG_STANDING, weights.standing),
        (PRIOR_FLAG_FIRST_PERSON, weights.first_person),
        (PRIOR_FLAG_TOOL, weights.tool),
    )
    return np.array([weight * ((flags & flag) != 0) for flag, weight in told])
