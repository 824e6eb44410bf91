from __future__ import annotations

import numpy as np
import pytest

from eunoe.pipeline.policies.presets.lethe_walk import (
    WALK_JUDGED,
    goal_alignment,
    judged_ties,
    likeness_ties,
    nearest_messages,
    walk_graph,
    walk_rank,
)
from eunoe.stages.structure.graph import EDGE_MENTION, EDGE_NEXT, EDGE_SIMILAR, EDGE_TOOL
from eunoe.stages.structure.stance import Stance
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


def test_names_that_an_extractor_finds_tie_like_our_own():
    lines = asked("see acme", "sun", "acme db.py")
    found = [("acme",), (), ("acme", "db.py"), ("acme",)]
    chat = preset_chat(lines, "open acme", find_names=lambda places: [found[i] for i in places])
    graph = walk_graph(chat)
    node = graph.entities["acme"]
    assert ties(graph, EDGE_MENTION) == {(0, node, 1.0), (2, node, 1.0), (3, node, 1.0)}
    assert walk_graph(preset_chat(lines, "open acme")).entities == {}


def test_a_stance_weakens_or_strengthens_likeness():
    lines = asked("dog lamp", "cloud", "dog sun", "moon", "dog river")
    said = {(0, 2): Stance(0.0, 0.0, 1.0), (2, 4): Stance(1.0, 0.0, 0.0), (0, 5): None}
    plain = preset_chat(lines, "dog")
    judged = preset_chat(lines, "dog", judge=lambda pairs: [said.get(pair) for pair in pairs])
    before = {tie[:2]: tie[2] for tie in ties(walk_graph(plain), EDGE_SIMILAR)}
    after = {tie[:2]: tie[2] for tie in ties(walk_graph(judged), EDGE_SIMILAR)}
    assert after == {**before, (0, 2): 0.0, (2, 4): 1.0}
    assert 0.5 < before[0, 2] < 1.0


def test_what_contradicts_the_best_message_is_reached_less():
    lines = asked("dog lamp", "cloud", "dog sun", "moon", "tree", "hat", "river")
    said = {(0, 2): Stance(0.0, 0.1, 0.9)}
    plain = preset_chat(lines, "dog lamp")
    judged = preset_chat(lines, "dog lamp", judge=lambda pairs: [said.get(p) for p in pairs])
    before, after = (walk_rank(chat, goal_alignment(chat)) for chat in (plain, judged))
    assert after[2] < before[2]


def test_few_pairs_are_judged_those_with_the_question_first():
    lines = asked(*[f"dog w{i % 5}" for i in range(60)])
    pairs = []
    chat = preset_chat(lines, "dog")
    chat_with = preset_chat(lines, "dog", judge=lambda some: [pairs.append(p) for p in some])
    found = likeness_ties(chat)
    assert len(found) > WALK_JUDGED
    assert judged_ties(chat, found) == judged_ties(chat_with, found) == {}
    assert len(pairs) == WALK_JUDGED
    with_question = [pair for pair in pairs if pair[1] == 60]
    assert pairs[: len(with_question)] == with_question
    assert len(with_question) == len([tie for tie in found if tie[1] == 60])
    cosine = {tie[:2]: tie[2] for tie in found}
    rest = [cosine[pair] for pair in pairs[len(with_question) :]]
    assert rest == sorted(rest, reverse=True)


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
