"""Topics of a long chat: runs of messages that share words, for a table of contents."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from eunoe.stages.scoring.analysis import analyse_text
from eunoe.stages.scoring.word_splitting import split_words
from eunoe.stages.scoring.words import look_up_word

TOPIC_LIKENESS = 0.08
"""Share of words in common below which a message begins a new topic."""

_LEAST_MESSAGES = 4
_MOST_MESSAGES = 40
_TOPIC_CHARACTERS = 2_000
_TERMS = 6
_OPENING = 70


@dataclass(frozen=True, slots=True)
class Topic:
    """Messages ``[start, stop)``, their telling words, and how they begin."""

    start: int
    stop: int
    terms: tuple[str, ...]
    opening: str


def find_topics(texts: Sequence[str], most: int) -> list[Topic]:
    """Cut a chat into at most `most` topics, in order, mostly of 4 messages or more.

    A topic ends where the next message shares less than `TOPIC_LIKENESS` of the words (Jaccard) of
    the last few, in any script, or after 40 messages; more where `most` is small.
    """
    terms = [frozenset(analyse_text(t[:_TOPIC_CHARACTERS], role="").terms) for t in texts]
    longest = max(_MOST_MESSAGES, math.ceil(2 * len(texts) / max(1, most)))
    starts = [0] if texts else []
    for i in range(1, len(texts)):
        size = i - starts[-1]
        recent = frozenset().union(*terms[max(starts[-1], i - _LEAST_MESSAGES) : i])
        either = len(terms[i] | recent)
        apart = bool(either) and len(terms[i] & recent) < TOPIC_LIKENESS * either
        if size >= longest or (size >= _LEAST_MESSAGES and apart):
            starts.append(i)
    if len(starts) > most:
        kept = [starts[k * len(starts) // most] for k in range(most)]
        starts = list(dict.fromkeys(kept))
    bounds = [*starts, len(texts)]
    runs = [(a, b) for a, b in pairwise(bounds) if b > a]
    held = [Counter(term for t in terms[a:b] for term in t) for a, b in runs]
    spread = Counter(term for counts in held for term in counts)
    return [
        Topic(
            a,
            b,
            _as_written(_telling(counts, spread, len(runs)), texts[a:b]),
            " ".join(texts[a].split())[:_OPENING],
        )
        for (a, b), counts in zip(runs, held, strict=True)
    ]


def _telling(counts: Counter[str], spread: Counter[str], topics: int) -> tuple[str, ...]:
    """The words that are frequent here and rare in other topics."""
    weighed = [(-n * math.log(1.0 + topics / spread[term]), term) for term, n in counts.items()]
    return tuple(term for _, term in sorted(weighed)[:_TERMS])


def _as_written(terms: Sequence[str], texts: Sequence[str]) -> tuple[str, ...]:
    """The first word that gave each term: terms are stems."""
    wanted = set(terms)
    written: dict[str, str] = {}
    for text in texts:
        for word in split_words(text[:_TOPIC_CHARACTERS]):
            for term in look_up_word(word)[0]:
                if term in wanted:
                    written.setdefault(term, word.lower())
    return tuple(written.get(term, term) for term in terms)
