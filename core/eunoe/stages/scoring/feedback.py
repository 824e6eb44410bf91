"""Words that the best answers share: what the question did not say, but its answers do.

Pseudo-relevance feedback: the messages that a question finds first name things that other messages
about the same matter name too, in words that the question does not have.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from eunoe.stages.scoring.evidence import EVIDENCE_IDF_UNIT, EvidenceView
from eunoe.stages.scoring.postings import TermUses
from eunoe.stages.scoring.signals import inverse_frequency, term_presence

_RN = 0.5


FEEDBACK_COMMON = 0.2
FEEDBACK_FEW = 5.0
"""Words that more messages hold, and a larger share of all, say nothing about a matter."""


def feedback_column(
    view: EvidenceView,
    score: NDArray[np.float64],
    evidence: NDArray[np.float64],
    asked: Sequence[str],
) -> NDArray[np.float64] | None:
    """What each message has in common with the messages that answer best so far.

    The best messages, at most ``feedback_messages``, count ``p_i``, in proportion to the root of
    their odds. A term that was not asked for counts ``w_t = idf_t sum_i p_i s_ti`` with the
    saturated presence ``s``; the ``feedback_terms`` of most weight are kept, common ones apart, and
    divided by the largest. A message holds ``x_i = sum_t w_t idf_t s_ti / 5``, and counts
    ``sqrt(h_i) x_i + h_i sum_d a^d (x_{i-d} + x_{i+d})`` for d of 1 and 2 inside a segment. What it
    taught itself is left out of the first part. ``h_i`` is 1 for a short message and falls with
    length: a long one has words in common with anything, and does not lean on those beside it.

    Args:
        view: The messages.
        score: Log-odds so far, shape (n,).
        evidence: Above 0 where something in the question speaks for a message, shape (n,); others
            teach nothing.
        asked: Terms of the question.

    Returns:
        Shape (n,), at least 0, the weight of the signal applied; None where nothing is shared.

    Source of formula: relevance models (Lavrenko and Croft, 2001), with idf as in Rocchio's rule.
    """
    s, postings = view.settings, view.postings
    known = (evidence > 0.0).nonzero()[0]
    if s.weights.feedback <= 0.0 or not known.size:
        return None
    best = known.take(_largest(score.take(known), s.feedback_messages))
    trust = np.zeros(view.size)
    lead = score.take(best)
    trust[best] = np.exp(0.5 * (lead - lead.max()))
    trust /= trust.sum()
    short = np.minimum(1.0, s.k1 / view.norm)
    taught = postings.uses_in(best.tolist())
    said = trust.take(taught.messages) * _presence(view, taught)
    weight = np.bincount(taught.terms, said)
    weight[[number for number in postings.numbers_of(asked) if number < weight.size]] = 0.0
    common = max(FEEDBACK_FEW, FEEDBACK_COMMON * view.size)
    kept = (weight > 0.0).nonzero()[0]
    holders = postings.added_up(short, view.size).take(kept)
    rare = (holders <= common).nonzero()[0]
    if not rare.size:
        return None
    kept, holders = kept.take(rare), holders.take(rare)
    idf = inverse_frequency(holders, view.size)
    worth = idf * weight.take(kept)
    chosen = _largest(worth, s.feedback_terms)
    kept, idf, worth = kept.take(chosen), idf.take(chosen), worth.take(chosen)
    shared = postings.uses_of(kept.tolist(), view.size)
    place = kept.searchsorted(shared.terms)
    presence = _presence(view, shared)
    idf = idf.take(place)
    gain = idf * presence / (float(worth.max()) * EVIDENCE_IDF_UNIT)
    worth = worth.take(place)
    own = np.maximum(0.0, worth - idf * presence * trust.take(shared.messages))
    held = np.bincount(shared.messages, worth * gain, view.size).astype(np.float64)
    column = np.sqrt(short) * np.bincount(shared.messages, own * gain, view.size)
    return np.asarray(s.weights.feedback * (column + short * _beside(view, held)))


def _presence(view: EvidenceView, uses: TermUses) -> NDArray[np.float64]:
    return term_presence(uses.counts, view.norm.take(uses.messages))


def _largest(values: NDArray[np.float64], most: int) -> NDArray[np.int64]:
    """Places of the largest values, ascending; the first among equals."""
    if values.size <= most:
        return np.arange(values.size)
    ranked = values.copy()
    ranked.partition(values.size - most)
    edge = ranked[values.size - most]
    places: NDArray[np.int64] = (values >= edge).nonzero()[0]
    if places.size == most:
        return places
    order = (-values.take(places)).argsort(kind="stable")[:most]
    return np.sort(places.take(order))


def _beside(view: EvidenceView, held: NDArray[np.float64]) -> NDArray[np.float64]:
    """What the two messages before and after hold."""
    beside = np.zeros(held.shape)
    near = view.settings.feedback_near
    for steps, share in ((1, near), (2, near * near)):
        same = share * view.same[steps - 1]
        beside[steps:] += same * held[:-steps]
        beside[:-steps] += same * held[steps:]
    return beside
