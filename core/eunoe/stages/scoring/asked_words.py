"""Words of the chat that stand for words of a question that it does not hold as they are."""

from __future__ import annotations

from collections.abc import Sequence

from eunoe.stages.scoring.analysis import TextAnalysis
from eunoe.stages.scoring.dates import numeric_forms
from eunoe.stages.scoring.evidence import EvidenceView
from eunoe.stages.scoring.profile import cues_of, kind_of, meta_share
from eunoe.stages.scoring.words import speaks_english

ASKED_NEAR_TERMS = 32
"""Words of a question that others are looked for, at most: each is searched in all words held."""


def near_terms(view: EvidenceView, query: TextAnalysis, terms: Sequence[str]) -> dict[str, float]:
    """Terms of the chat that are nearly one of the question, and the share that each counts.

    A word that no message holds may be inflected, joined to another, or mistyped there. English
    words that are found are left alone, since endings are taken off them; in other languages the
    other forms count too. A day is looked for in all forms of digits.

    Args:
        view: The messages, asked for the terms.
        query: The question.
        terms: Those of it that count; words about the chat itself have none near.
    """
    english = speaks_english(query.body)
    cues, kind = cues_of(query), kind_of(query)
    near: dict[str, float] = {}
    looked = 0
    for term in terms:
        known = view.idf(term) > 0.0
        if (known and english) or meta_share(term, cues, kind) < 1.0:
            continue
        looked += 1
        if looked > ASKED_NEAR_TERMS:
            break
        nearest = view.postings.near(term, view.size, known=known, derived=english)
        found = [other for other in nearest if other not in terms]
        for other in found:
            share = view.settings.near_word / len(found) ** 0.5
            near[other] = max(near.get(other, 0.0), share)
    for day in query.dates[:ASKED_NEAR_TERMS]:
        for other in view.postings.holding(numeric_forms(day), view.size):
            near.setdefault(other, 1.0)
        if day[2] and str(day[2]) not in terms:
            near.setdefault(str(day[2]), view.settings.near_word)
    return {term: share for term, share in near.items() if term not in terms}
