"""The walk of the ``lethe`` preset: what the question reaches over the ties between messages."""

from __future__ import annotations

import numpy as np

from eunoe.pipeline.presets.chat import FloatColumn, PlaceColumn, PresetChat
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

WALK_POOL = 256
"""Messages among which likeness ties are looked for, those nearest to the question."""
WALK_NEIGHBOURS = 8
WALK_LIKE = 0.1
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
    mentions: dict[str, list[int]] = {}
    for i, analysis in enumerate((*chat.analyses, chat.query)):
        for name in analysis.entities:
            mentions.setdefault(name, []).append(i)
    for name, places in mentions.items():
        if 2 <= len(places) <= WALK_RARE:
            node = graph.entity(name)
            for place in places:
                graph.tie(place, node, EDGE_MENTION, 1.0)


def tie_likeness(graph: MessageGraph, chat: PresetChat) -> None:
    """Tie the messages nearest to the question to each other, and the nearest ones to it.

    Strength ``(1 + cosine)/2``: without a judgement of stance that is all the kernel says (H5).
    """
    pool = nearest_messages(chat, WALK_POOL)
    if not pool.size:
        return
    rows = chat.matrix.picked(pool)
    near = knn_similarity(
        rows.indptr,
        rows.terms,
        unit_weights(rows, chat.idf),
        count=WALK_NEIGHBOURS,
        floor=WALK_LIKE,
    )
    for j in range(pool.size):
        for e in range(int(near.indptr[j]), int(near.indptr[j + 1])):
            k = int(near.indices[e])
            if k > j:
                kappa = normal_cosine(float(near.values[e]))
                graph.tie(int(pool[j]), int(pool[k]), EDGE_SIMILAR, kappa)
    for i in nearest_messages(chat, WALK_NEIGHBOURS).tolist():
        graph.tie(i, chat.size, EDGE_SIMILAR, normal_cosine(float(chat.cosine[i])))


def nearest_messages(chat: PresetChat, count: int) -> PlaceColumn:
    """Messages of largest cosine above 0, the newest among equals; ascending."""
    found = np.flatnonzero(chat.cosine > 0.0)
    order = np.lexsort((-found, -chat.cosine[found]))[:count]
    return np.sort(found[order])
