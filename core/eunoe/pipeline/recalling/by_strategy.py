"""Scoring and selecting by what the caller gave in place of the house's own ways."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from eunoe.domain.atom import Atom
from eunoe.pipeline.advisers.advice import Advice
from eunoe.pipeline.chat.memory import content_key
from eunoe.pipeline.recalling.atom_pools import AtomPool
from eunoe.pipeline.request import Request
from eunoe.stages.scoring import TextAnalysis
from eunoe.stages.scoring.lexical import smooth_frequency, unit_weights
from eunoe.stages.scoring.scorers import Scorer, ScorerOpinions
from eunoe.stages.selection.candidates import SelectionCandidates, SparseSimilarity
from eunoe.stages.selection.selecting import Selection
from eunoe.stages.selection.similarity import knn_similarity
from eunoe.stages.selection.strategies import SelectionAlgorithm
from eunoe.stages.selection.tiers import TierElements

_BY_STRATEGY_LIKENED = 2_000
"""Atoms above which none is taken to be like another."""


def score_by_strategy(
    request: Request, scorer: Scorer, query: TextAnalysis, advice: Advice
) -> NDArray[np.float64]:
    """What a scorer says of the finished turns, in [0, 1], shape (n,); what is no number is 0.

    Raises:
        ValueError: it says nothing of some message.
    """
    size = request.turn_start
    index = request.transcript.indexed(request.expired)
    labels = advice.labels if advice.labels is not None else advice.ahead
    said = ScorerOpinions(advice.likeness, labels)
    values = np.asarray(scorer.score(index, query, upto=size, said=said), dtype=np.float64)
    if values.shape != (size,):
        raise ValueError(f"scorer {scorer.name} gave shape {values.shape}, allowed: ({size},)")
    return np.clip(np.nan_to_num(values, nan=0.0, posinf=1.0, neginf=0.0), 0.0, 1.0)


def select_by_strategy(
    request: Request,
    algorithm: SelectionAlgorithm,
    pool: AtomPool,
    cost: NDArray[np.int64] | TierElements,
    room: int,
) -> Selection:
    """What an algorithm takes of the candidates, by position; it sees all of them.

    It is told what is like what, which atoms are of one turn, and what was sent before.

    Args:
        cost: tokens of the candidates, or all forms of them.
    """
    transcript, tracker, places = request.transcript, request.strategies.tracker, pool.places
    first = transcript.atom_first.view()[places]
    atoms = [transcript.atoms[k] for k in places.tolist()]
    candidates = SelectionCandidates.of(
        pool.worth,
        cost,
        room,
        similarity=_likeness(request, places),
        groups=transcript.turn_of_message.view()[first],
        ids=atom_ids(request, atoms) if tracker is not None else (),
        sent=tracker.sent(request.chat) if tracker is not None else (),
    )
    return algorithm.select(candidates)


def _likeness(request: Request, places: NDArray[np.int64]) -> SparseSimilarity | None:
    if len(places) > _BY_STRATEGY_LIKENED:
        return None
    matrix = request.transcript.term_rows(request.expired).matrix()
    rows = matrix.joined(request.transcript.atom_of_message.view()).picked(places)
    return knn_similarity(rows.indptr, rows.terms, unit_weights(rows, smooth_frequency(matrix)))


def atom_ids(request: Request, atoms: Sequence[Atom]) -> list[str]:
    """An id for each atom that follows from its content alone."""
    return [
        blake2b(
            repr([content_key(request.raws[i]) for i in atom.indices]).encode(
                "utf-8", "surrogatepass"
            ),
            digest_size=12,
        ).hexdigest()
        for atom in atoms
    ]


def track_sent(request: Request, chosen: Sequence[Atom]) -> None:
    """Note what is about to be sent, the current turn included, for the tracker of the caller."""
    if request.strategies.tracker is not None:
        request.tracked = tuple(atom_ids(request, [*chosen, *request.current_atoms]))
