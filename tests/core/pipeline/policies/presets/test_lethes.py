from __future__ import annotations

import numpy as np
import pytest

from eunoe.pipeline.policies.presets.lethes import plan_lethes, recency_lift, smart_weights
from preset_chats import asked, preset_chat, talk

LINES = talk("dog dog lamp", "cloud", "lamp river", "tree", "sun")


def test_smart_weights_by_hand():
    # BM25 finds the first only: 1; its answer inherits 0.8; the rest stands at the floor
    assert smart_weights(preset_chat(LINES, "dog")).tolist() == pytest.approx(
        [1.0, 0.8, 0.05, 0.05, 0.05]
    )


def test_recency_by_hand():
    assert recency_lift(5).tolist() == [1.0, 1.5, 2.0, 2.5, 3.0]
    assert recency_lift(1).tolist() == [1.0]
    assert recency_lift(0).tolist() == []


@pytest.mark.parametrize(
    ("room", "chosen"), [(1, (1,)), (2, (0, 1)), (3, (0, 1, 4)), (4, (0, 1, 3, 4))]
)
def test_the_heaviest_first(room, chosen):
    # weights 1, 1.2, 0.1, 0.125, 0.15
    plan = plan_lethes(preset_chat(LINES, "dog", room=room))
    assert plan is not None
    assert plan.chosen == chosen
    assert plan.values.tolist() == pytest.approx([1 / 3, 0.4, 0.1 / 3, 0.125 / 3, 0.05])


def test_what_does_not_fit_is_skipped_and_smaller_ones_are_tried():
    plan = plan_lethes(preset_chat(LINES, "dog", room=5, cost=[3, 4, 1, 1, 1]))
    assert plan is not None
    assert plan.chosen == (1, 4)


def test_where_nothing_matches_the_newest_win():
    chat = preset_chat(asked("cloud", "sun", "tree"), "dog", room=2)
    assert smart_weights(chat).tolist() == [1.0, 1.0, 1.0]
    plan = plan_lethes(chat)
    assert plan is not None
    assert plan.chosen == (1, 2)


TOOLS = [
    ("user", "dog"),
    ("tool", "dog"),
    ("tool", "cloud"),
    ("assistant", "sun"),
    ("user", "lamp"),
]


@pytest.mark.parametrize(
    ("asked_for", "expected"),
    [
        ({}, [1.0, 0.5, 0.025, 0.8, 0.05]),
        ({"tool_penalty": 1.0}, [1.0, 1.0, 0.05, 0.8, 0.05]),
        ({"pair_coherence": 0.0}, [1.0, 0.5, 0.025, 0.05, 0.05]),
    ],
)
def test_tool_flow_counts_half_and_the_answer_behind_it_inherits(asked_for, expected):
    assert smart_weights(preset_chat(TOOLS, "dog", **asked_for)).tolist() == pytest.approx(expected)


def test_base_weights_multiply():
    plan = plan_lethes(preset_chat(LINES, "dog", room=1, base=np.array([3.0, 1, 1, 1, 1])))
    assert plan is not None
    assert plan.chosen == (0,)


def test_calls_and_results_are_one_unit():
    plan = plan_lethes(
        preset_chat(
            [("user", "cloud"), ("tool", "dog"), ("tool", "sun"), ("user", "lamp")],
            "dog",
            room=2,
            holder=[0, 1, 1, 2],
            cost=[1, 2, 1],
        )
    )
    assert plan is not None
    assert plan.chosen == (1,)


def test_no_room():
    assert plan_lethes(preset_chat(LINES, "dog", room=0)) is None
    assert plan_lethes(preset_chat(LINES, "dog", room=1, cost=9)) is None
    assert plan_lethes(preset_chat(LINES, "dog", open=np.zeros(5, dtype=bool))) is None
