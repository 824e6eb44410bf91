"""Fill the room that recall leaves over: the part that matters of long messages not taken whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eunoe.domain.atom import Atom, atom_of
from eunoe.pipeline.recalling.short_forms import FORM_LINE_TOKENS, ShortForm
from eunoe.pipeline.request import Request
from eunoe.stages.excerpts import cut_excerpt
from eunoe.stages.quoting import spoken_text
from eunoe.stages.scoring.evidence import passage_gain
from eunoe.stages.scoring.profile import Relevance
from eunoe.stages.scoring.words import terms_of_text
from eunoe.stages.selection.tiers import Tier

EXCERPT_MOST_TOKENS = 200
"""Tokens of one excerpt at most."""

_EXCERPT_LEAST_TOKENS = 150
_EXCERPT_LEAST_ROOM = 28
_EXCERPT_CANDIDATES = 6
_EXCERPT_FLOOR = 0.02
_EXCERPT_SWAP = 0.05
_EXCERPT_SWAP_SURE = 0.3
_EXCERPT_SURE = 0.7
_EXCERPT_ALL = 0.9
_EXCERPT_ANSWERED = 0.1
_EXCERPT_NEAR_BEST = 0.25
"""What gives way to an excerpt may matter so much, as a share of the excerpt's relevance; and so
much where it holds at least ``SURE`` of the question and ``NEAR_BEST`` of the best relevance."""


@dataclass(frozen=True, slots=True, eq=False)
class ExcerptPool:
    """Where excerpts may come from.

    Attributes:
        places: candidates among the atoms, ascending; ``worth`` is their relevance and ``cost``
            their tokens, same shape.
        chosen: which of them were taken whole, ascending.
        values: relevance of every finished message.
        answer: what the index said; its question gives the terms that matter.
    """

    places: NDArray[np.int64]
    worth: NDArray[np.float64]
    cost: NDArray[np.int64]
    chosen: Sequence[int]
    values: NDArray[np.float64]
    answer: Relevance | None


def fill_with_excerpts(
    request: Request, pool: ExcerptPool, room: int
) -> tuple[tuple[ShortForm, ...], frozenset[int]]:
    """Excerpts of the most relevant long messages that were not chosen, as far as the room goes.

    Where the room is filled with what hardly matters, some of that gives way: messages that
    together matter a twentieth of the excerpt, three tenths if it holds most of the question, or as
    much as it does if it holds nearly all and nothing else answers.

    Args:
        room: tokens that the choice left over, the head of the block paid.

    Returns:
        At most six excerpts in order of place, and the chosen candidates that gave way to them.
    """
    if pool.answer is None or not len(pool.places):
        return (), frozenset()
    long = pool.cost > _EXCERPT_LEAST_TOKENS
    long[list(pool.chosen)] = False
    if not long.any():
        return (), frozenset()
    weights = dict(pool.answer.profile.weights)
    drowned = _drowned_words(request, pool, weights, long)
    worth = worth_of_excerpts(pool.worth, pool.cost, drowned)
    ranked = _ranked_long(long, worth, pool.worth)
    density = pool.worth / pool.cost
    fillers = sorted(pool.chosen, key=lambda k: (density[k], k))
    found: list[ShortForm] = []
    gone: set[int] = set()
    for k in ranked[:_EXCERPT_CANDIDATES]:
        most = EXCERPT_MOST_TOKENS + FORM_LINE_TOKENS
        swap = 1.0 if drowned[k] > 0.0 else _EXCERPT_SWAP_SURE
        giving = _giving_way(pool, fillers, swap * worth[k], most - room)
        limit = min(most, room + int(pool.cost[giving].sum()))
        if limit < _EXCERPT_LEAST_ROOM + FORM_LINE_TOKENS:
            continue
        atom = request.transcript.atoms[pool.places[k]]
        excerpt = excerpt_of(request, atom, pool.values, weights, limit)
        if excerpt is None:
            continue
        if excerpt.covered < _EXCERPT_SURE or _EXCERPT_NEAR_BEST * pool.worth.max() > worth[k]:
            giving = _giving_way(pool, fillers, _EXCERPT_SWAP * worth[k], excerpt.tokens - room)
            if room + int(pool.cost[giving].sum()) < excerpt.tokens:
                continue
        found.append(excerpt)
        room -= excerpt.tokens
        while room < 0:
            filler = giving.pop(0)
            fillers.remove(filler)
            gone.add(filler)
            room += int(pool.cost[filler])
    return tuple(sorted(found, key=lambda e: e.atom.first)), frozenset(gone)


def most_relevant_long(worth: NDArray[np.float64], cost: NDArray[np.int64], most: int) -> list[int]:
    """The candidates that are long enough to be shortened and matter, the most relevant first."""
    if not worth.size:
        return []
    by_excerpt = worth_of_excerpts(worth, cost, np.zeros(worth.size))
    return _ranked_long(cost > _EXCERPT_LEAST_TOKENS, by_excerpt, worth)[:most]


def _ranked_long(
    long: NDArray[np.bool_], by_excerpt: NDArray[np.float64], worth: NDArray[np.float64]
) -> list[int]:
    """Those of the long ones that matter a fiftieth of the most relevant candidate, ranked."""
    kept = long & (by_excerpt >= _EXCERPT_FLOOR * worth.max())
    ranked: list[int] = np.flatnonzero(kept)[np.argsort(-by_excerpt[kept], kind="stable")].tolist()
    return ranked


def worth_of_excerpts(
    worth: NDArray[np.float64], cost: NDArray[np.int64], drowned: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Relevance of long messages if the part that matters stood for them.

    Scoring prices length with half its logarithm: the odds of an excerpt are the message's times
    ``sqrt(cost/150)``. In a long message words count less, too.

    Args:
        drowned: What the words of the question would add to the log-odds in the excerpt.
    """
    bounded = np.minimum(worth, 1.0 - 1e-12)
    odds = bounded / (1.0 - bounded) * np.sqrt(np.maximum(1.0, cost / _EXCERPT_LEAST_TOKENS))
    odds = odds * np.exp(drowned)
    return np.asarray(odds / (1.0 + odds))


def _drowned_words(
    request: Request, pool: ExcerptPool, weights: Mapping[str, float], long: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """What the question's words count less in long messages than they do in a passage.

    Where nothing that was chosen answers, of those alone that hold nearly all of the question, and
    more than any message that was chosen: words that are scattered over a long text, or said
    elsewhere, too, speak for no passage. Where calls are made their values matter, not passages.
    """
    found = np.zeros(pool.places.size)
    total = sum(weights.values())
    if total <= 0.0 or pool.worth.max() > _EXCERPT_ANSWERED or request.acts_by_tools:
        return found
    index, atoms, entries = request.transcript.index, request.transcript.atoms, request.entries
    held: dict[int, list[float]] = {}
    holders = index.holders(list(weights), len(pool.values))
    for weight, places in zip(weights.values(), holders, strict=True):
        for place in places:
            held.setdefault(place, []).append(weight)
    most = {i: sum(held[i]) for i in held}
    chosen = [i for k in pool.chosen for i in atoms[pool.places[k]].indices]
    least = max([_EXCERPT_ALL * total, *(most.get(i, 0.0) + 1e-9 for i in chosen)])
    for k in long.nonzero()[0].tolist():
        for i in atoms[pool.places[k]].indices:
            if most.get(i, 0.0) >= least:
                gain = passage_gain(index.settings, held[i], entries[i].analysed().length)
                found[k] = max(found[k], gain)
    return found


def _giving_way(
    pool: ExcerptPool, fillers: Sequence[int], bearable: float, wanted: int
) -> list[int]:
    """The first few that free so many tokens, or all that matter little enough together."""
    giving: list[int] = []
    for k in fillers:
        bearable -= float(pool.worth[k])
        if wanted <= 0 or bearable < 0.0:
            break
        giving.append(k)
        wanted -= int(pool.cost[k])
    return giving


def excerpt_of(
    request: Request,
    atom: Atom,
    values: NDArray[np.float64],
    weights: Mapping[str, float],
    room: int = EXCERPT_MOST_TOKENS + FORM_LINE_TOKENS,
) -> ShortForm | None:
    """The part that matters of an atom's most relevant message; None where none fits.

    Args:
        values: relevance of every finished message, shape (n,).
        weights: the terms of the question and what each is worth.
        room: tokens for it, its line included.
    """
    long = [i for i in atom.indices if request.entries[i].tokens > _EXCERPT_LEAST_TOKENS]
    if not long:
        return None
    place = max(long, key=lambda i: (values[i], -i))
    count = request.counter.count_batch
    most = min(room - FORM_LINE_TOKENS, EXCERPT_MOST_TOKENS)
    text = cut_excerpt(spoken_text(request.messages[place]), weights, terms_of_text, count, most)
    if text is None:
        return None
    held = set(terms_of_text(text))
    covered = sum(w for t, w in weights.items() if t in held) / sum(weights.values())
    alone = atom_of((place,), atom.turn)
    return ShortForm(alone, Tier.GIST, text, count([text])[0] + FORM_LINE_TOKENS, covered)
