"""The walk of the ``lethe`` preset: what the question reaches over the ties between messages."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from eunoe.pipeline.policies.presets.chat import (
    FloatColumn,
    PlaceColumn,
    PresetChat,
    entity_mentions,
)
from eunoe.stages.scoring.lexical import neighbour_cosine, unit_weights
from eunoe.stages.selection.similarity import knn_similarity
from eunoe.stages.structure.blend import normal_cosine
from eunoe.stages.structure.graph import (
    EDGE_MENTION,
    EDGE_NEXT,
    EDGE_SIMILAR,
    EDGE_TOOL,
    MessageGraph,
)
from eunoe.stages.structure.pagerank import seed_weights
from eunoe.stages.structure.stance import Stance, stance_strength

WALK_POOL = 256
"""Messages among which likeness ties are looked for, those nearest to the question."""
WALK_NEIGHBOURS = 8
WALK_LIKE = 0.1
WALK_JUDGED = 64
"""Pairs of messages of which a judge is asked at a time, at most."""
WALK_RARE = 64
"""Mentions above which an entity tells messages apart no more."""


def goal_alignment(chat: PresetChat) -> FloatColumn:
    """Cosine with the question over the largest one, times base weights, in [0, 1], shape (n,).

    A message that has nothing in common with the question has 0 (H1 without the neutral half).
    """
    top = float(chat.cosine.max(initial=0.0))
    aligned = chat.cosine / top if top > 0.0 else chat.cosine
    return np.minimum(1.0, aligned * chat.base)


def walk_rank(chat: PresetChat, alignment: FloatColumn) -> FloatColumn:
    """Personalised PageRank of the messages, shape (n,) (H2 to H6).

    It teleports to the question and the messages of the turn before it, in proportion to their
    squared alignment plus a floor.
    """
    graph = walk_graph(chat)
    seeds = np.append(np.flatnonzero(chat.turn == chat.turns - 1), chat.size)
    aligned = np.zeros(graph.nodes)
    aligned[: chat.size] = alignment
    aligned[chat.size] = 1.0
    return graph.rank(seed_weights(aligned, seeds))[: chat.size]


def walk_graph(chat: PresetChat) -> MessageGraph:
    """Messages and, as the node after them, the question; ties as the preset's docstring says."""
    size = chat.size
    graph = MessageGraph(size + 1)
    beside = neighbour_cosine(chat.matrix, chat.weights).tolist()
    for i in range(1, size):
        graph.tie(i - 1, i, EDGE_NEXT, normal_cosine(beside[i]))
    if size:
        graph.tie(size - 1, size, EDGE_NEXT, normal_cosine(float(chat.cosine[size - 1])))
    call = chat.first[chat.holder]
    for i in np.flatnonzero(call != np.arange(size)).tolist():
        graph.tie(int(call[i]), i, EDGE_TOOL, 1.0)
    tie_mentions(graph, chat)
    tie_likeness(graph, chat)
    return graph


def tie_mentions(graph: MessageGraph, chat: PresetChat) -> None:
    """Tie messages, and the question, to the entities that some but not many of them mention."""
    for name, places in entity_mentions(chat.entities).items():
        if 2 <= len(places) <= WALK_RARE:
            node = graph.entity(name)
            for place in places:
                graph.tie(place, node, EDGE_MENTION, 1.0)


def tie_likeness(graph: MessageGraph, chat: PresetChat) -> None:
    """Tie the messages nearest to the question to each other, and the nearest ones to it.

    Strength ``(1 + cosine)/2``, or with what a judge says of the two, if there is one (H5).
    """
    ties = likeness_ties(chat)
    stances = judged_ties(chat, ties)
    for one, other, cosine in ties:
        kappa = stance_strength(normal_cosine(cosine), stances.get((one, other)))
        graph.tie(one, other, EDGE_SIMILAR, kappa)


def likeness_ties(chat: PresetChat) -> list[tuple[int, int, float]]:
    """Pairs of messages, or of a message and the question, the earlier first, with their cosine."""
    pool = nearest_messages(chat, WALK_POOL)
    if not pool.size:
        return []
    rows = chat.matrix.picked(pool)
    near = knn_similarity(
        rows.indptr,
        rows.terms,
        unit_weights(rows, chat.idf),
        count=WALK_NEIGHBOURS,
        floor=WALK_LIKE,
    )
    ties: list[tuple[int, int, float]] = []
    for j in range(pool.size):
        for e in range(int(near.indptr[j]), int(near.indptr[j + 1])):
            k = int(near.indices[e])
            if k > j:
                ties.append((int(pool[j]), int(pool[k]), float(near.values[e])))
    nearest = nearest_messages(chat, WALK_NEIGHBOURS).tolist()
    return ties + [(i, chat.size, float(chat.cosine[i])) for i in nearest]


def judged_ties(
    chat: PresetChat, ties: Sequence[tuple[int, int, float]]
) -> dict[tuple[int, int], Stance]:
    """What a judge says of some pairs: those with the question, then the most alike."""
    if chat.judge is None:
        return {}
    order = sorted(ties, key=lambda tie: (tie[1] != chat.size, -tie[2], tie[:2]))
    pairs = [(one, other) for one, other, _ in order[:WALK_JUDGED]]
    said = zip(pairs, chat.judge(pairs), strict=True)
    return {pair: stance for pair, stance in said if stance is not None}


def nearest_messages(chat: PresetChat, count: int) -> PlaceColumn:
    """Messages of largest cosine above 0, the newest among equals; ascending."""
    found = np.flatnonzero(chat.cosine > 0.0)
    order = np.lexsort((-found, -chat.cosine[found]))[:count]
    return np.sort(found[order])
