"""The question as scoring sees it: terms with weights, cues, dates, who is meant."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from eunoe.stages.scoring.analysis import TextAnalysis
from eunoe.stages.scoring.cues import (
    CUE_ANAPHOR,
    CUE_ORDER,
    CUE_RECALL,
    CUE_STANDING,
    CUE_SUMMARY,
    find_cues,
    question_type,
)
from eunoe.stages.scoring.dates import CalendarDate
from eunoe.stages.scoring.stemming import stem_english
from eunoe.stages.scoring.word_tables import MARK_ANAPHOR

PROFILE_META_SHARE = 0.2
"""Weight of words that speak about the chat itself, in a question that points back at it."""

# What one says when asking for a memory, not about the thing remembered.
_PROFILE_META_TERMS = frozenset(
    stem_english(word)
    for word in (
        "walk list order conversation mention summary summarize clear comprehensive discuss "
        "throughout aspect different provide session item bring chat talk tell give overview "
        "complete detail across cover everything request time ask help recall remember remind "
        "explain describe include specific message question earlier previous say suggest"
    ).split()
)

# What makes a question one of quantity; its answer has numbers, seldom these words.
_PROFILE_QUANTITY_TERMS = frozenset(
    "mani much often long far total number amount viel oft lang cuanto cuanta quanto quanta quanti "
    "quant combien скольк 多 少 多少".split()
)


@dataclass(frozen=True, slots=True)
class QueryProfile:
    """Scalar facts of a question.

    Attributes:
        weights: Index terms and their inverse document frequency, rarest first.
        unknown: Terms that no message holds.
        asks: Whether it is a question.
        kind: ``when``, ``how_many``, ``who``, ``where``, ``other``, or empty for no question.
        cues: Combination of the ``CUE_*`` bits.
        speaker: Folded name of the one speaker who is meant, empty when none or several are.
        dates: Dates in it.
        entities: Names, identifiers, paths in it.
        people: How many of those who speak it names.
    """

    weights: tuple[tuple[str, float], ...]
    unknown: tuple[str, ...]
    asks: bool
    kind: str
    cues: int
    speaker: str
    dates: tuple[CalendarDate, ...]
    entities: tuple[str, ...]
    people: int = 0

    @property
    def recalls(self) -> bool:
        """Whether it points back at what was said ("earlier", "remember", "之前")."""
        return bool(self.cues & CUE_RECALL)


@dataclass(frozen=True, slots=True)
class Relevance:
    """Answer of the index.

    Attributes:
        values: Relevance in [0, 1], shape (n,); 0 where nothing speaks for a message.
        signals: What each signal added to the log-odds, by name, each of shape (n,).
        profile: The question as it was understood.
        reaches: First and last message that hold each term of its weights.
    """

    values: NDArray[np.float64]
    signals: dict[str, NDArray[np.float64]]
    profile: QueryProfile
    reaches: dict[str, tuple[int, int]]


@lru_cache(maxsize=32)
def _profile_cues(asked: str) -> int:
    """`find_cues`; the gate and the index ask for those of the same question."""
    return find_cues(asked)


@lru_cache(maxsize=32)
def _profile_kind(asked: str) -> str:
    """`question_type`; each step of a turn has the same question."""
    return question_type(asked)


def cues_of(query: TextAnalysis) -> int:
    """``CUE_*`` bits of a question."""
    cues = _profile_cues(query.asked) & ~CUE_STANDING
    return cues | (CUE_ANAPHOR if query.marks & MARK_ANAPHOR else 0)


def kind_of(query: TextAnalysis) -> str:
    """Question type, empty when the text asks nothing."""
    return _profile_kind(query.asked) if query.asks else ""


def meta_share(term: str, cues: int, kind: str = "") -> float:
    """Share of its weight that a term keeps in a question with these cues, of this type.

    Words about the chat itself, those that ask for a quantity, and the small number that says how
    long a list or a summary shall be are not about the matter: they are rare in a chat, so that
    they would count most.
    """
    if cues & (CUE_RECALL | CUE_ORDER | CUE_SUMMARY) and term in _PROFILE_META_TERMS:
        return PROFILE_META_SHARE
    if kind == "how_many" and term in _PROFILE_QUANTITY_TERMS:
        return PROFILE_META_SHARE
    if cues & (CUE_ORDER | CUE_SUMMARY) and term.isdecimal() and len(term) < 3:
        return PROFILE_META_SHARE
    return 1.0
