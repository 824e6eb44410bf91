from __future__ import annotations

import numpy as np
import pytest

from eunoe.pipeline.policies.presets.lethe import (
    lethe_anchors,
    lethe_candidates,
    lethe_relevance,
    likeness_of,
    plan_lethe,
    select_lethe,
)
from preset_chats import asked, preset_chat, talk

NOTHING: frozenset[int] = frozenset()


def places_of(chat):
    return np.arange(chat.first.size)


def test_relevance_is_the_blend_and_never_below_its_floor():
    chat = preset_chat(talk("dog", "cloud", "sun", "lamp"), "dog", room=4)
    got = lethe_relevance(chat)
    assert got.argmax() == 0
    assert (got >= 0.01).all()
    assert (got <= 1.0).all()


def test_gain_per_token_by_hand():
    # worth 1, 1, 0.6; the first two are copies: the second counts 1 - beta
    chat = preset_chat(asked("dog lamp", "dog lamp", "cloud"), "dog", room=2)
    worth = np.array([1.0, 1.0, 0.6])
    picked, _ = select_lethe(chat, places_of(chat), worth, ["", "", ""], NOTHING)
    # distances 0, 1/2, 1/2: mean 1/3, over 1/2: beta = 0.3 + 0.4 * 2/3
    beta = 0.3 + 0.4 * 2 / 3
    assert picked.chosen == (1, 2)
    assert picked.gains == pytest.approx((1.0, 0.6))
    assert 1.0 - beta < 0.6
    cheap = preset_chat(asked("dog lamp", "dog lamp", "cloud"), "dog", room=3, cost=[1, 1, 2])
    worth = np.array([1.0, 1.0, 0.4])
    picked, _ = select_lethe(cheap, places_of(cheap), worth, ["", "", ""], NOTHING)
    assert picked.chosen == (0, 1)
    assert picked.gains == pytest.approx((1.0, 1.0 - beta))


def test_likeness_is_between_atoms():
    chat = preset_chat(asked("dog", "dog", "sun", "dog sun"), "dog", holder=[0, 1, 2, 2])
    likeness = likeness_of(chat, places_of(chat))
    row = dict(
        zip(
            likeness.indices[: likeness.indptr[1]].tolist(),
            likeness.values[: likeness.indptr[1]].tolist(),
            strict=True,
        )
    )
    assert row[1] == 1.0
    assert 0.0 < row[2] < 1.0


@pytest.mark.parametrize(
    ("room", "short"),
    [
        pytest.param(18, {0: 13}, id="the room left"),
        pytest.param(17, {}, id="too little room"),
        pytest.param(200, {}, id="whole where that fits"),
    ],
)
def test_a_long_message_is_shown_by_its_first_sentence(room, short):
    chat = preset_chat(asked("dog cloud", "sun"), "dog", room=room, cost=[100, 5])
    worth = np.array([1.0, 0.1])
    whole, shown = select_lethe(chat, places_of(chat), worth, ["dog …", ""], NOTHING)
    assert whole.chosen == ((0, 1) if room == 200 else (1,))
    assert shown == short


def test_the_gist_comes_with_the_plan():
    chat = preset_chat(
        asked("sun", "dog cloud", "lamp", "tree"),
        "dog",
        room=45,
        cost=[30, 100, 30, 30],
        first_sentences=lambda places: ["dog …" if i == 1 else "" for i in places],
    )
    plan = plan_lethe(chat)
    assert plan is not None
    assert plan.gists == {1: "dog …"}
    assert 1 in plan.chosen


@pytest.mark.parametrize(
    ("cost", "head", "tail"),
    [
        pytest.param([1] * 4, {0}, {2, 3}, id="small"),
        pytest.param([9, 1, 1, 1], set(), {2, 3}, id="a large first question is no anchor"),
        pytest.param([1, 1, 3, 3], {0}, set(), id="nor is a large last turn"),
    ],
)
def test_anchors_take_a_quarter_of_the_room_each_at_most(cost, head, tail):
    chat = preset_chat(talk("a", "b", "c", "d"), "dog", room=16, cost=cost)
    assert lethe_anchors(chat) == (head, tail)


def test_what_may_not_be_chosen_is_no_anchor():
    open_atoms = np.array([False, True, True, False])
    chat = preset_chat(talk("a", "b", "c", "d"), "dog", room=16, open=open_atoms)
    assert lethe_anchors(chat) == (frozenset(), frozenset({2}))


def test_candidates_are_the_best_and_the_anchors():
    chat = preset_chat(asked(*"abcde"), "x", max_candidates=2)
    worth = np.array([0.1, 0.5, 0.5, 0.5, 0.2])
    assert lethe_candidates(chat, worth, frozenset({0})).tolist() == [0, 2, 3]


def test_head_and_tail():
    lines = talk("sun", "moon", "dog", "cloud", "dog lamp", "tree", "hat", "river")
    plan = plan_lethe(preset_chat(lines, "dog", room=40, pinned=frozenset({3}), cost=8))
    assert plan is not None
    assert plan.head == {0, 3}
    assert plan.tail == frozenset()
    plan = plan_lethe(preset_chat(lines, "dog", room=70, pinned=frozenset({3}), cost=8))
    assert plan is not None
    assert plan.tail == {6, 7}
    assert {0, 2, 4, 6, 7} <= set(plan.chosen)


@pytest.mark.parametrize("more", [{"room": 0}, {"open": np.zeros(2, dtype=bool)}, {"cost": 2_000}])
def test_nothing_to_choose(more):
    assert plan_lethe(preset_chat(talk("dog", "cloud"), "dog", **more)) is None
