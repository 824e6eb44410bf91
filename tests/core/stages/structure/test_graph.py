import numpy as np
import pytest

from eunoe.stages.structure.graph import EDGE_MENTION, EDGE_NEXT, MessageGraph


def chain(size, *named):
    """Neighbours tied, and an entity "rex" that some of the messages mention."""
    graph = MessageGraph(size)
    for i in range(1, size):
        graph.tie(i - 1, i, EDGE_NEXT, 0.5)
    for place in named:
        graph.tie(place, graph.entity("rex"), EDGE_MENTION, 1.0)
    return graph


def test_edges():
    graph = chain(3, 0, 2)
    assert graph.nodes == 4
    assert graph.entities == {"rex": 3}
    kinds = dict(zip(zip(graph.source, graph.target, strict=True), graph.kind, strict=True))
    assert kinds[1, 2] == kinds[2, 1] == EDGE_NEXT
    assert kinds[0, 3] == kinds[3, 0] == EDGE_MENTION


def test_an_entity_carries_rank_to_a_distant_message():
    teleport = np.zeros(13)
    teleport[11] = 1.0
    rank = chain(12, 1, 11).rank(teleport)
    assert rank.sum() == pytest.approx(1.0)
    assert rank[1] > rank[5]
    alone = chain(12).rank(teleport[:12])
    assert alone[1] < alone[5]


def test_nothing():
    assert MessageGraph(0).rank(np.zeros(0)).size == 0
    assert MessageGraph(1).rank(np.ones(1)).tolist() == [1.0]
