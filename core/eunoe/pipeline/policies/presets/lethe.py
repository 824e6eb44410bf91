"""The ``lethe`` preset: a graph walk from the question, a diverse knapsack, one block in U-shape.

1. Goal alignment ``GA = cosine/max`` of each message with the question.
2. Personalised PageRank (damping 0.85) from the question, the turn before it and what came of that,
   over neighbours (strength ``(1 + cosine)/2``), calls and results, shared entities and similar
   messages, with a softmax of 3. A judge of stance, where there is one, loosens the ties between
   similar messages that contradict each other, and tightens those that support each other.
3. ``r = max(0.01, w GA + (1 - w) rank/max)`` where ``w`` grows with the evenness of the rank and
   with the square of the budget's pressure.
4. Greedy by ``r (1 - beta * likeness to what was taken) / tokens`` over whole messages; the room
   left goes to the first sentences of the most relevant others.
5. Head: what is pinned and the first question of the chat; then by falling relevance; tail: the
   last turn. The current turn follows.

Source: Lethe, context composition, with the missing formulas as reconstructed there from its prose.
Otherwise than there: alignment is 0, not one half, for what has no word in common; likeness counts
against diversity on an absolute scale; no approximation ratio is claimed.
"""

from __future__ import annotations

import numpy as np

from eunoe.domain.certificate import Certificate
from eunoe.pipeline.policies.presets.chat import FloatColumn, PlaceColumn, PresetChat, PresetPlan
from eunoe.pipeline.policies.presets.lethe_walk import goal_alignment, walk_rank
from eunoe.pipeline.recalling.quoted_block import GIST_LINE_TOKENS
from eunoe.stages.scoring.adjusting import ADJUST_QUESTION
from eunoe.stages.scoring.lexical import unit_weights
from eunoe.stages.selection.candidates import SelectionCandidates, SparseSimilarity
from eunoe.stages.selection.certificate import with_left_out
from eunoe.stages.selection.redundancy import estimate_beta_sparse
from eunoe.stages.selection.selecting import Selection, select_items
from eunoe.stages.selection.similarity import knn_similarity
from eunoe.stages.structure.blend import (
    blend_rank,
    budget_pressure,
    direct_share,
    normal_entropy,
)

LETHE_TOP = 200
"""Ranks over which the evenness of the walk is measured."""
LETHE_ANCHOR_SHARE = 0.25
"""Share of the room that the first question, or the last turn, may take for sure."""


def plan_lethe(chat: PresetChat) -> PresetPlan | None:
    """The diverse set of atoms that the walk and the question agree on; None where none fits."""
    if not chat.open.any() or chat.room <= 0:
        return None
    relevance = lethe_relevance(chat)
    worth = chat.per_atom(relevance)
    head, tail = lethe_anchors(chat)
    places = lethe_candidates(chat, worth, head | tail)
    gists = lethe_gists(chat, places)
    whole, short = select_lethe(chat, places, worth, gists, head | tail)
    if not whole.chosen and not short:
        return None
    return PresetPlan(
        chosen=tuple(places[sorted((*whole.chosen, *short))].tolist()),
        values=np.minimum(1.0, relevance),
        reason="a walk from the question and a diverse choice, the most relevant first",
        certificate=certify_candidates(chat, places, worth, whole),
        gists={int(chat.first[places[k]]): gists[k] for k in short},
        head=head | chat.pinned,
        tail=tail,
    )


def lethe_relevance(chat: PresetChat) -> FloatColumn:
    """Alignment and rank, blended, at least 0.01, shape (n,) (H8 to H11)."""
    alignment = goal_alignment(chat)
    return with_rank(chat, alignment, walk_rank(chat, alignment))


def with_rank(chat: PresetChat, direct: FloatColumn, rank: FloatColumn) -> FloatColumn:
    """Direct relevance and the rank of a walk, each of shape (n,), blended, at least 0.01.

    The more even the rank and the less room there is, the more the direct relevance counts.
    """
    entropy = normal_entropy(np.sort(rank)[::-1][:LETHE_TOP])
    pressure = budget_pressure(chat.room, float(chat.cost[chat.open].sum()))
    return blend_rank(direct, rank, direct_share(entropy, pressure))


def lethe_anchors(chat: PresetChat) -> tuple[frozenset[int], frozenset[int]]:
    """The atom of the first question, and those of the last turn; empty if they are too large."""
    most = int(chat.room * LETHE_ANCHOR_SHARE)
    asked = np.flatnonzero(chat.kinds == ADJUST_QUESTION)
    goal = [k for k in chat.holder[asked[:1]].tolist() if chat.open[k] and chat.cost[k] <= most]
    last = chat.atoms_of_turn(chat.turns - 1)
    fits = sum(int(chat.cost[k]) for k in last) <= most
    return frozenset(goal), frozenset(last if fits else [])


def lethe_candidates(chat: PresetChat, worth: FloatColumn, anchors: frozenset[int]) -> PlaceColumn:
    """The most relevant atoms, the newest first among equals, and the anchors; ascending."""
    places = np.flatnonzero(chat.open)
    best = np.lexsort((-places, -worth[places]))[: chat.max_candidates]
    return np.unique(np.concatenate([places[best], np.array(sorted(anchors), dtype=np.int64)]))


def certify_candidates(
    chat: PresetChat, places: PlaceColumn, worth: FloatColumn, choice: Selection
) -> Certificate:
    """The certificate of a choice, where others than the candidates might have been chosen.

    They count by their own worth; that they are like some candidate, and cover it, does not.
    """
    others = np.setdiff1d(np.flatnonzero(chat.open), places)
    return with_left_out(choice.certificate, worth[others], chat.cost[others], chat.room)


def lethe_gists(chat: PresetChat, places: PlaceColumn) -> list[str]:
    """The first sentence of each atom that is one message of talk; empty for others."""
    sizes = np.bincount(chat.holder, minlength=chat.first.size)[places]
    texts = chat.first_sentences(chat.first[places].tolist())
    return [text if size == 1 else "" for text, size in zip(texts, sizes.tolist(), strict=True)]


def likeness_of(chat: PresetChat, places: PlaceColumn) -> SparseSimilarity:
    """Cosines between atoms, nearest neighbours only."""
    rows = chat.matrix.joined(chat.holder).picked(places)
    return knn_similarity(rows.indptr, rows.terms, unit_weights(rows, chat.idf))


def select_lethe(
    chat: PresetChat,
    places: PlaceColumn,
    worth: FloatColumn,
    gists: list[str],
    anchors: frozenset[int],
) -> tuple[Selection, dict[int, int]]:
    """Greedy by marginal gain per token over whole messages, then gists in the room left.

    Args:
        places: the candidates, ascending; ``gists`` are theirs.
        worth: relevance of every atom, shape (m,).
        anchors: what is chosen in any case.

    Returns:
        The choice of whole atoms by position among the candidates, and the tokens of each
        candidate shown by its gist (H12 to H17).
    """
    likeness = likeness_of(chat, places)
    candidates = SelectionCandidates.of(
        worth[places],
        chat.cost[places],
        chat.room,
        similarity=likeness,
        forced=np.isin(places, sorted(anchors)),
    )
    beta = estimate_beta_sparse(likeness)
    whole = select_items(candidates, objective="mig", beta=beta, exponent=1.0)
    left = chat.room - whole.cost
    rest = np.setdiff1d(np.arange(places.size), np.array(whole.chosen, dtype=np.int64))
    rest = rest[np.lexsort((-rest, -worth[places[rest]]))]
    tokens = chat.count_batch([gists[k] for k in rest.tolist()])
    short: dict[int, int] = {}
    for k, size in zip(rest.tolist(), tokens, strict=True):
        cost = size + GIST_LINE_TOKENS
        if gists[k] and cost <= left and cost < chat.cost[places[k]]:
            short[k] = cost
            left -= cost
    return whole, short
