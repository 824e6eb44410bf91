"""The extractive gist: sentences that cover what a stretch of chat speaks of, word for word."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from math import log

import numpy as np

from eunoe.pipeline.summaries.honest import SUMMARY_SENTENCE_CHARACTERS, summary_terms
from eunoe.stages.excerpts import split_sentences
from eunoe.stages.selection.greedy import GreedyWalk, run_greedy
from eunoe.stages.selection.tiers import plain_elements
from eunoe.stages.selection.value_coverage import ValueObjective

_GIST_SENTENCES = 400
_GIST_EXPONENT = 0.75
_GIST_LINE_TOKENS = 3
_GIST_FEWEST_TERMS = 3


def extractive_gist(
    messages: Sequence[tuple[str, str]],
    max_tokens: int,
    count_batch: Callable[[Sequence[str]], Sequence[int]],
) -> str | None:
    """The sentences that together hold most of the terms, in order, each with who said it.

    Budgeted maximum coverage: a term is worth ``log(1 + times) log(1 + N / sentences with it)``,
    once. Greedy by gain over tokens to the power of 0.75. Source: Lin and Bilmes, NAACL 2010.

    Args:
        messages: role and text of each, oldest first; the newest 400 sentences are looked at.
        max_tokens: of the gist.
        count_batch: tokens of each of some texts.

    Returns:
        One line for each sentence; None if none fits.
    """
    pieces = [
        (role, text[a:b])
        for role, text in messages
        for a, b in split_sentences(text, 0, len(text))
        if b - a <= SUMMARY_SENTENCE_CHARACTERS
    ][-_GIST_SENTENCES:]
    terms = [summary_terms(piece) for _, piece in pieces]
    told = [k for k, t in enumerate(terms) if len(set(t)) >= _GIST_FEWEST_TERMS]
    if not told:
        return None
    times = Counter(t for k in told for t in terms[k])
    within = Counter(t for k in told for t in set(terms[k]))
    number = {term: n for n, term in enumerate(times)}
    weight = [log(1 + times[t]) * log(1 + len(told) / within[t]) for t in number]
    lines = [f"{pieces[k][0]}: {' '.join(pieces[k][1].split())}" for k in told]
    cost = np.asarray(count_batch(lines), dtype=np.int64) + _GIST_LINE_TOKENS
    none = np.zeros(len(told))
    walk = GreedyWalk(
        ValueObjective(none, [[number[t] for t in set(terms[k])] for k in told], np.array(weight)),
        plain_elements(cost),
        none,
        np.ones(len(told), dtype=bool),
        max_tokens,
    )
    chosen = sorted(pick.element for pick in run_greedy(walk, _GIST_EXPONENT).picks)
    return "\n".join(lines[k] for k in chosen) or None
