from __future__ import annotations

from math import log, sqrt

import numpy as np
import pytest

from eunoe.pipeline.policies.presets.dycp import plan_dycp
from preset_chats import asked, preset_chat, talk

OTHER = ("cloud", "sun", "lamp", "tree", "river", "moon")


def with_dog(*places: int) -> list[tuple[str, str]]:
    return asked(*("dog" if i in places else OTHER[i] for i in range(6)))


@pytest.mark.parametrize(
    ("places", "chosen"),
    [
        # one of six: z = (5/6) / (sqrt(5)/6) = sqrt(5); gain sqrt(5) - 0.6 = 1.64
        pytest.param((2,), (2,), id="a peak stands out"),
        # two of six: z = (2/3) / (sqrt(2)/3) = sqrt(2); gain 0.81 each
        pytest.param((2, 3), (2, 3), id="two in a row reach theta"),
        pytest.param((1, 4), (3, 4, 5), id="two apart do not: the last three"),
        # three of six: z = 1; gain 0.4 each, 1.2 in a row
        pytest.param((1, 2, 3), (1, 2, 3), id="three in a row"),
        pytest.param(range(6), (3, 4, 5), id="flat"),
        pytest.param((), (3, 4, 5), id="silence"),
    ],
)
def test_spans_by_hand(places, chosen):
    plan = plan_dycp(preset_chat(with_dog(*places), "dog"))
    assert plan is not None
    assert plan.chosen == chosen


def test_a_turn_is_one_text():
    chat = preset_chat(talk("dog", "cloud", "sun", "lamp", "tree", "river"), "dog")
    rare = log(4 / 2) + 1
    assert chat.turn_cosine.tolist() == pytest.approx([rare / sqrt(2 * rare**2), 0, 0])
    plan = plan_dycp(preset_chat(talk("sun", "dog", *OTHER * 2), "dog"))
    assert plan is not None
    assert plan.chosen == (0, 1)


def test_a_weak_turn_between_strong_ones_stays():
    lines = asked("cloud", "dog", "sun", "dog", "dog", "lamp", "tree", "river", "moon", "hat")
    plan = plan_dycp(preset_chat(lines, "dog"))
    assert plan is not None
    # z = 0.7/0.458 = 1.53 and -0.3/0.458 = -0.65: gains 0.93, -1.25, 0.93, 0.93
    assert plan.chosen == (3, 4)


def test_base_weights_multiply_by_turn():
    lines = with_dog(1, 4)
    base = np.ones(6)
    base[4] = 0.0
    plan = plan_dycp(preset_chat(lines, "dog", base=base))
    assert plan is not None
    assert plan.chosen == (1,)
