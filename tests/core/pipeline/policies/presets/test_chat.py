from __future__ import annotations

import numpy as np
import pytest

from eunoe.pipeline.policies.presets.chat import embedded_cosine
from eunoe.pipeline.policies.presets.dycp import plan_dycp
from preset_chats import asked, preset_chat, talk

NAN = float("nan")


@pytest.mark.parametrize(
    ("likeness", "expected"),
    [
        pytest.param(None, None, id="no embeddings"),
        pytest.param([], None, id="no messages"),
        pytest.param([NAN, NAN, 0.5], None, id="too few"),
        pytest.param([0.5, NAN], None, id="half is too few"),
        pytest.param([0.2, NAN, 0.6], [0.2, 0.4, 0.6], id="the mean for the unknown"),
        pytest.param([-0.4, 1.2, 0.5], [0.0, 1.0, 0.5], id="within bounds"),
    ],
)
def test_cosines_of_embeddings(likeness, expected):
    got = embedded_cosine(None if likeness is None else np.array(likeness, dtype=float))
    assert (None if got is None else got.tolist()) == (
        None if expected is None else pytest.approx(expected)
    )


def test_embeddings_come_before_words():
    likeness = np.array([0.1, 0.1, 0.1, 0.9, 0.1, 0.1])
    chat = preset_chat(asked("dog", *"abcde"), "dog", likeness=likeness)
    plan = plan_dycp(chat)
    assert plan is not None
    assert plan.chosen == (3,)


def test_a_turn_is_as_near_as_its_nearest_message():
    likeness = np.array([0.1, 0.7, 0.3, 0.2])
    chat = preset_chat(talk(*"abcd"), "dog", likeness=likeness)
    assert chat.turn_cosine.tolist() == [0.7, 0.3]


def test_turns_and_atoms():
    chat = preset_chat(talk(*"abcd"), "x", base=np.array([2.0, 3.0, 1.0, 0.5]), holder=[0, 1, 1, 2])
    assert (chat.size, chat.turns) == (4, 2)
    assert chat.turn_base.tolist() == [6.0, 0.5]
    assert chat.turn_of_atom.tolist() == [0, 0, 1]
    assert chat.per_atom(np.array([0.1, 0.2, 0.4, 0.3])).tolist() == [0.1, 0.4, 0.3]
    assert chat.atoms_of_turn(0) == [0, 1]
    assert preset_chat([], "x").turns == 0
