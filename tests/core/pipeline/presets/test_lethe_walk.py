from __future__ import annotations

import numpy as np
import pytest

from eunoe.pipeline.presets.lethe_walk import (
    goal_alignment,
    nearest_messages,
    walk_graph,
    walk_rank,
)
from eunoe.stages.structure.graph import EDGE_MENTION, EDGE_NEXT, EDGE_SIMILAR, EDGE_TOOL
from preset_chats import asked, preset_chat, talk


def ties(graph, kind: str) -> set[tuple[int, int, float]]:
    return {
        (s, t, round(k, 6))
        for s, t, k, of in zip(graph.source, graph.target, graph.kappa, graph.kind, strict=True)
        if of == kind and s < t
    }


def test_alignment_is_nothing_for_what_has_nothing_in_common():
    chat = preset_chat(asked("dog", "cloud", "dog cloud"), "dog", base=np.array([1, 1, 0.5]))
    got = goal_alignment(chat)
    assert got[0] == 1.0
    assert got[1] == 0.0
    assert got[2] == pytest.approx(0.5 * np.sqrt(0.5))
    assert goal_alignment(preset_chat(asked("sun"), "dog")).tolist() == [0.0]


def test_neighbours_are_tied_by_their_likeness():
    graph = walk_graph(preset_chat(asked("dog", "dog", "cloud"), "sun"))
    # (1 + 1)/2 between copies, (1 + 0)/2 else; node 3 is the question
    assert ties(graph, EDGE_NEXT) == {(0, 1, 1.0), (1, 2, 0.5), (2, 3, 0.5)}


def test_calls_are_tied_to_their_results():
    lines = [("user", "sun"), ("tool", "cloud"), ("tool", "lamp"), ("tool", "tree")]
    graph = walk_graph(preset_chat(lines, "dog", holder=[0, 1, 1, 1]))
    assert ties(graph, EDGE_TOOL) == {(1, 2, 1.0), (1, 3, 1.0)}


def test_shared_entities_tie_messages_and_the_question():
    graph = walk_graph(preset_chat(asked("see app.py", "sun", "app.py db.py"), "open app.py"))
    node = graph.entities["app.py"]
    assert {(0, node, 1.0), (2, node, 1.0), (3, node, 1.0)} <= ties(graph, EDGE_MENTION)
    assert "db.py" not in graph.entities


def test_likeness_ties_the_nearest_to_each_other_and_to_the_question():
    graph = walk_graph(preset_chat(asked("dog", "cloud", "dog"), "dog"))
    assert ties(graph, EDGE_SIMILAR) == {(0, 2, 1.0), (0, 3, 1.0), (2, 3, 1.0)}
    assert ties(walk_graph(preset_chat(asked("sun", "cloud"), "dog")), EDGE_SIMILAR) == set()


def test_nearest_are_the_newest_among_equals():
    chat = preset_chat(asked("dog", "cloud", "dog", "dog"), "dog")
    assert nearest_messages(chat, 2).tolist() == [2, 3]
    assert nearest_messages(chat, 9).tolist() == [0, 2, 3]


def test_the_walk_of_one_message_by_hand():
    # question q and message m, tied both ways; teleport w_q = 1.01, w_m = 0.01
    rank = walk_rank(preset_chat(asked("sun"), "dog"), np.zeros(1))
    v = 0.01 / 1.02
    # pi_m = 0.15 v + 0.85 (1 - pi_m), of all mass 1
    assert rank[0] == pytest.approx((0.15 * v + 0.85) / 1.85, abs=1e-6)


def test_what_is_tied_to_the_question_ranks_before_what_is_not():
    lines = talk("dog", "cloud", "sun", "lamp", "tree", "river", "moon", "hat")
    chat = preset_chat(lines, "dog")
    rank = walk_rank(chat, goal_alignment(chat))
    assert rank[0] > max(rank[1:5])
    assert rank[1] > rank[3]
