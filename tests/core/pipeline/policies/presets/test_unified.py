"""``unified``: each part of it decides a chat that the others leave open."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ask import ask
from eunoe import Certificate
from eunoe.pipeline.policies.presets.lethe_walk import walk_graph
from eunoe.pipeline.policies.presets.unified import (
    direct_relevance,
    plan_unified,
    unified_relevance,
    walk_starts,
)
from preset_chats import asked, preset_chat, talk
from strategies import assistant, user

WEATHER = tuple(f"The weather in town {i} was mild." for i in range(20))


def relevance(lines, question, **more):
    chat = preset_chat(lines, question, **more)
    return unified_relevance(chat, direct_relevance(chat))


def test_direct_relevance_by_hand():
    chat = preset_chat(
        [("user", "oak"), ("assistant", "yes"), ("tool", "oak"), ("user", "elm")], "oak oak"
    )
    # both "oak" have the best BM25; the answer gets 0.8 of it, the tool keeps half of it
    assert chat.turn.tolist() == [0, 0, 0, 1]
    assert direct_relevance(chat) == pytest.approx([1.0, 0.8, 0.5, 0.0])
    older = preset_chat(asked("oak", "elm", "oak"), "oak")
    fade = 0.5 + 0.5 * 0.98**2
    assert direct_relevance(older) == pytest.approx([fade, 0.0, 1.0])
    recalled = preset_chat(asked("oak", "elm", "oak"), "What did I say about oak earlier?")
    assert direct_relevance(recalled)[0] == pytest.approx(direct_relevance(recalled)[2])


def test_meaning_counts_as_much_as_words():
    chat = preset_chat(asked("oak", "elm", "fir"), "oak", likeness=np.array([0.0, 0.9, 0.3]))
    fade = [0.5 + 0.5 * 0.98**age for age in (2, 1, 0)]
    plain = np.array([0.5, 0.5, 0.5 / 3]) * fade
    assert direct_relevance(chat) == pytest.approx(plain / plain.max())


def test_the_walk_starts_half_at_what_the_question_names():
    chat = preset_chat(asked("see bill.py", "bill.py fails", "see note.py"), "what of bill.py?")
    graph = walk_graph(chat)
    starts = walk_starts(chat, graph, direct_relevance(chat))
    assert starts.sum() == pytest.approx(1.0)
    assert starts[graph.entities["bill.py"]] == pytest.approx(0.5)
    lonely = preset_chat(asked("see bill.py", "that fails"), "what now?")
    graph = walk_graph(lonely)
    assert "bill.py" not in graph.entities
    assert walk_starts(lonely, graph, direct_relevance(lonely))[0] < 0.5


def test_a_pronoun_decides_between_equal_words():
    facts = ("bill.py belongs to Dana.", "note.py belongs to Ravi.")
    for meant in (0, 1):
        opened = f"I open {('bill.py', 'note.py')[meant]} again."
        found = relevance(asked(*facts, *WEATHER, opened), "Who does it belong to?")
        assert found[meant] > found[1 - meant]


def test_a_newer_value_wins_unless_the_past_is_asked_for():
    lines = asked("The limit is 5.", *WEATHER, "The limit is now 9.", *WEATHER)
    old, new = 0, len(WEATHER) + 1
    now = relevance(lines, "What is the limit?")
    past = relevance(lines, "What was the limit originally?")
    assert now[old] / now[new] < 0.75 * past[old] / past[new]


def test_a_span_lifts_what_lies_in_it():
    arc = ("oak cabin roof plan", "and yes, blue", "oak cabin roof cost")
    found = relevance(asked(*WEATHER, *arc, *WEATHER), "oak cabin roof")
    inside, far = len(WEATHER) + 1, 2
    assert found[inside] >= 0.25 * found.max()
    assert found[far] < found[inside]


def test_the_choice_fits_and_is_certified():
    chat = preset_chat(talk(*WEATHER, "oak is tall", "yes"), "oak?", room=5, cost=2)
    plan = plan_unified(chat)
    assert plan is not None
    assert len(WEATHER) in plan.chosen
    assert sum(int(chat.cost[k]) for k in plan.chosen) <= 5
    assert isinstance(plan.certificate, Certificate)
    assert 0.5 < plan.certificate.ratio <= 1.0
    assert math.isclose(float(plan.values.max()), 1.0)


def test_what_was_not_looked_at_counts_in_the_certificate():
    lines = asked(*(f"oak {'tall ' * (i % 3)}{i}" for i in range(9)), *WEATHER)
    proofs = []
    for limit in (2, 500):
        plan = plan_unified(preset_chat(lines, "tall oak?", room=10, cost=2, max_candidates=limit))
        assert plan is not None
        assert isinstance(plan.certificate, Certificate)
        proofs.append(plan.certificate)
    few, many = proofs
    assert few.upper_bound >= many.value
    assert few.ratio < many.ratio


def test_without_a_signal_the_last_turns_are_sent():
    plan = plan_unified(preset_chat(asked(*WEATHER), "zebra?", room=100))
    assert plan is not None
    assert plan.chosen == (17, 18, 19)
    assert "fallback" in plan.reason
    assert plan_unified(preset_chat(asked(*WEATHER), "zebra?", room=0)) is None
    one = plan_unified(preset_chat(talk("oak", "elm"), "oak", room=100))
    assert one is not None
    assert one.chosen == (0, 1)


def test_as_a_policy():
    chat = [m for text in ("The oak is 9 m tall.", *WEATHER) for m in (user(text), assistant("OK"))]
    answer = ask([*chat, user("How tall is the oak?")], 100, policy="unified")
    assert answer.report.decisions[0].fate == "kept"
    assert isinstance(answer.report.certificate, Certificate)
