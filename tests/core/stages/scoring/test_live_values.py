from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eunoe.stages.scoring.live_values import VALUE_SPOKEN, ValueRows, find_values


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("", []),
        ("no value in here", []),
        ("order #W2378156 is late", ["W2378156"]),
        ('{"user_id": "ann_lee_3817", "zip": "94103"}', ["user_id", "ann_lee_3817", "94103"]),
        ("fly on 2024-05-16, cabin economy.", ["2024-05-16"]),
        ("mail ann@example.org or see src/app/main_window.py:42", ["ann@example.org",
            "src/app/main_window.py:42"]),
        ("Ann Lee met Karl in Århus", ["Karl", "Århus"]),
        ("the same 12345 and 12345 again", ["12345"]),
        ("id 12 and 123 are too short", []),
        ("订单 A-20931 已发货", ["A-20931"]),
        ("x" * 90 + "1", []),
    ],
)  # fmt: skip
def test_what_counts_as_a_value(text, values):
    assert find_values(text) == values


def test_a_value_that_was_spoken_weighs_more_and_newer_ones_more_than_older_ones():
    rows = ValueRows()
    rows.append("", "first_found_1 rare_found_2")
    rows.append("please take first_found_1", "")
    rows.append("", "late_found_3")
    numbers = dict(
        zip(["first_found_1", "rare_found_2", "late_found_3"], [*rows.of(0), *rows.of(2)],
            strict=True)
    )  # fmt: skip
    weight = rows.weights(3)
    assert weight[numbers["first_found_1"]] == pytest.approx(VALUE_SPOKEN * (1 + 2 / 3))
    assert weight[numbers["rare_found_2"]] == pytest.approx(1 + 1 / 3)
    assert weight[numbers["late_found_3"]] == pytest.approx(2.0)


TEXTS = st.lists(
    st.sampled_from(["a_1 b_22", "code_1", "Karl code_1", "", "no", "zz_9 code_1 a_1x"]), max_size=8
)


@given(TEXTS, st.data())
def test_weights_follow_from_the_messages_they_are_asked_for(texts, data):
    """What comes later changes nothing, however it is spoken."""
    upto = data.draw(st.integers(0, len(texts)))
    whole, part = ValueRows(), ValueRows()
    for k, text in enumerate(texts):
        whole.append(*((text, "") if k % 2 else ("", text)))
        if k < upto:
            part.append(*((text, "") if k % 2 else ("", text)))
    known = part.weights(upto)
    assert np.array_equal(whole.weights(upto)[: len(known)], known)
    assert not whole.weights(upto)[len(known) :].any()
