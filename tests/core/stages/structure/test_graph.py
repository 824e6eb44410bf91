import numpy as np
import pytest

from eunoe.stages.structure.graph import (
    EDGE_MENTION,
    EDGE_NEXT,
    EDGE_REPLY,
    MessageGraph,
    build_graph,
)


def test_edges():
    graph = build_graph([0, 0, 1], [["a"], [], ["a", "b"]], calls=[(0, 1)], similar=[(0, 2, 0.3)])
    assert graph.nodes == 4
    assert graph.entities == {"a": 3}
    kinds = dict(zip(zip(graph.source, graph.target, strict=True), graph.kind, strict=True))
    assert kinds[1, 2] == EDGE_NEXT
    assert kinds[0, 3] == EDGE_MENTION
    assert EDGE_REPLY in graph.kind


def test_an_entity_carries_rank_to_a_distant_message():
    turn = list(range(12))
    entities = [["rex"] if i in (1, 11) else [] for i in turn]
    teleport = np.zeros(13)
    teleport[11] = 1.0
    rank = build_graph(turn, entities).rank(teleport)
    assert rank.sum() == pytest.approx(1.0)
    assert rank[1] > rank[5]
    alone = build_graph(turn, [[] for _ in turn]).rank(teleport[:12])
    assert alone[1] < alone[5]


def test_a_common_entity_tells_nothing():
    assert build_graph([0, 1, 2], [["a"]] * 3, rare=2).entities == {}


def test_nothing():
    assert MessageGraph(0).rank(np.zeros(0)).size == 0
    assert build_graph([0], [[]]).rank(np.ones(1)).tolist() == [1.0]
