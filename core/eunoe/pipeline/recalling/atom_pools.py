"""Atoms that may be chosen: where they stand, what they are worth, what they take."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eunoe.pipeline.recalling.quoted_block import tokens_as_quoted
from eunoe.pipeline.request import Request


@dataclass(frozen=True, slots=True, eq=False)
class AtomPool:
    """Atoms that may be chosen, ascending.

    Attributes:
        places: shape (n,), where they stand among all atoms.
        worth: shape (n,), their relevance.
        cost: shape (n,), their tokens.
        left_out: others that could have been, but there were too many; None where there were not.
    """

    places: NDArray[np.int64]
    worth: NDArray[np.float64]
    cost: NDArray[np.int64]
    left_out: AtomPool | None = None


def pool_of(
    request: Request,
    places: NDArray[np.int64],
    worth: NDArray[np.float64],
    low: int,
    *,
    quoted: bool,
) -> AtomPool:
    """Atoms as candidates.

    Args:
        places: theirs, counted from ``low`` on, as are those of ``worth``.
    """
    transcript = request.transcript
    if not quoted:
        whole = [k for k in places.tolist() if not transcript.atoms[low + k].broken]
        places = np.array(whole, dtype=np.int64)
    worth, places = worth.take(places), places + low
    cost = transcript.atom_tokens.view().take(places)
    return AtomPool(places, worth, tokens_as_quoted(request, places, cost) if quoted else cost)
