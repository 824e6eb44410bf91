"""The typed graph of a conversation: messages, entities and what ties them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from eunoe.stages.structure.pagerank import (
    merge_edges,
    personalised_pagerank,
    transition_weights,
)

EDGE_NEXT = "next"
EDGE_TOOL = "tool"
EDGE_MENTION = "mention"
EDGE_SIMILAR = "similar"


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
