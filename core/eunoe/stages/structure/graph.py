"""The typed graph of a conversation: messages, entities and what ties them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from eunoe.stages.structure.pagerank import (
    merge_edges,
    personalised_pagerank,
    transition_weights,
)

EDGE_NEXT = "next"
EDGE_REPLY = "reply"
EDGE_TOOL = "tool"
EDGE_MENTION = "mention"
EDGE_SIMILAR = "similar"
EDGE_SUPERSEDES = "supersedes"


@dataclass(slots=True)
class MessageGraph:
    """Nodes 0 .. messages-1 are messages, later ones entities (never selected).

    Attributes:
        messages: Number of message nodes.
        entities: Entity name to node number.
        source: Start of each edge.
        target: End of each edge.
        kappa: Strength in [0, 1].
        kind: One of the ``EDGE_*`` names.
    """

    messages: int
    entities: dict[str, int] = field(default_factory=dict)
    source: list[int] = field(default_factory=list)
    target: list[int] = field(default_factory=list)
    kappa: list[float] = field(default_factory=list)
    kind: list[str] = field(default_factory=list)

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return self.messages + len(self.entities)

    def tie(self, one: int, other: int, kind: str, kappa: float) -> None:
        """Add an edge in both directions."""
        for source, target in ((one, other), (other, one)):
            self.source.append(source)
            self.target.append(target)
            self.kappa.append(kappa)
            self.kind.append(kind)

    def entity(self, name: str) -> int:
        """Node of an entity, made when it is new."""
        return self.entities.setdefault(name, self.messages + len(self.entities))

    def rank(self, teleport: NDArray[np.float64]) -> NDArray[np.float64]:
        """Personalised PageRank of the messages, sum 1 (entities dropped).

        Args:
            teleport: Seed mass, shape (nodes,).
        """
        if self.nodes == 0:
            return np.zeros(0)
        source, target, kappa = merge_edges(
            np.array(self.source, dtype=np.int64),
            np.array(self.target, dtype=np.int64),
            np.array(self.kappa, dtype=np.float64),
            self.nodes,
        )
        weight = transition_weights(source, kappa, self.nodes)
        pi = personalised_pagerank(source, target, weight, teleport)[: self.messages]
        total = float(pi.sum())
        return np.asarray(pi / total) if total > 0.0 else pi


def build_graph(
    turn: Sequence[int],
    entities: Sequence[Sequence[str]],
    *,
    calls: Sequence[tuple[int, int]] = (),
    similar: Sequence[tuple[int, int, float]] = (),
    rare: int = 64,
) -> MessageGraph:
    """Graph of a conversation.

    Neighbours are tied with 1/2, messages of one turn with 3/4 (a reply), a call and its result
    with 1, a message and an entity with 1, similar messages with their similarity. An entity that
    only one message or more than `rare` messages mention ties nothing and gets no node.

    Args:
        turn: Turn number of each message.
        entities: Entities of each message.
        calls: Pairs (message with the call, message with its result).
        similar: Triples (message, message, similarity in [0, 1]).
        rare: Most mentions of an entity that still tells messages apart.
    """
    graph = MessageGraph(len(turn))
    for i in range(1, len(turn)):
        same = turn[i] == turn[i - 1]
        graph.tie(i - 1, i, EDGE_REPLY if same else EDGE_NEXT, 0.75 if same else 0.5)
    for call, result in calls:
        graph.tie(call, result, EDGE_TOOL, 1.0)
    mentions: dict[str, list[int]] = {}
    for i, names in enumerate(entities):
        for name in dict.fromkeys(names):
            mentions.setdefault(name, []).append(i)
    for name, places in mentions.items():
        if 2 <= len(places) <= rare:
            node = graph.entity(name)
            for place in places:
                graph.tie(place, node, EDGE_MENTION, 1.0)
    for one, other, similarity in similar:
        graph.tie(one, other, EDGE_SIMILAR, similarity)
    return graph
