from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies

from eunoe.stages.scoring.adjusting import (
    ADJUST_ANSWER,
    ADJUST_QUESTION,
    ADJUST_TOOL,
    share_within_turns,
    weigh_tool_flow,
)

Q, A, T, S = ADJUST_QUESTION, ADJUST_ANSWER, ADJUST_TOOL, 0


@pytest.mark.parametrize(
    ("kinds", "turns", "values", "mutual", "expected"),
    [
        pytest.param([Q, A], [0, 0], [1.0, 0.1], True, [1.0, 0.8], id="the answer inherits"),
        pytest.param([Q, A], [0, 0], [0.1, 1.0], True, [0.8, 1.0], id="the question inherits"),
        pytest.param([Q, A], [0, 0], [0.1, 1.0], False, [0.1, 1.0], id="one way only"),
        pytest.param([Q, T, T, A], [0] * 4, [1.0, 0.2, 0.3, 0.1], True, [1.0, 0.2, 0.3, 0.8],
                     id="over tool steps, which neither give nor take"),
        pytest.param([Q, A], [0, 1], [1.0, 0.1], True, [1.0, 0.1], id="not over turns"),
        pytest.param([Q, Q, A, A], [0] * 4, [0.5, 1.0, 0.9, 0.1], True, [0.72, 1.0, 0.9, 0.8],
                     id="the best of several"),
        pytest.param([S, A], [0, 0], [1.0, 0.1], True, [1.0, 0.1], id="system messages give none"),
        pytest.param([], [], [], True, [], id="none"),
    ],
)  # fmt: skip
def test_question_and_answer_share(kinds, turns, values, mutual, expected):
    got = share_within_turns(
        np.array(values, dtype=float),
        np.array(kinds, dtype=np.int8),
        np.array(turns, dtype=np.int64),
        0.8,
        mutual=mutual,
    )
    assert got.tolist() == pytest.approx(expected)


def test_tool_flow_counts_less():
    kinds = np.array([Q, T, A, T], dtype=np.int8)
    got = weigh_tool_flow(np.array([1.0, 1.0, 0.5, 0.4]), kinds, 0.5)
    assert got.tolist() == [1.0, 0.5, 0.5, 0.2]


@given(
    strategies.lists(
        strategies.tuples(
            strategies.integers(0, 3), strategies.integers(0, 4), strategies.floats(0, 1)
        ),
        max_size=12,
    ),
    strategies.floats(0, 1),
)
def test_sharing_lowers_nothing_and_keeps_to_the_range(messages, share):
    kinds = np.array([k for k, _, _ in messages], dtype=np.int8)
    turns = np.array([t for _, t, _ in messages], dtype=np.int64)
    values = np.array([v for _, _, v in messages], dtype=float)
    got = share_within_turns(values, kinds, turns, share)
    assert (got >= values).all()
    assert (got <= 1).all()
    assert (share_within_turns(values, kinds, turns, 0.0) == values).all()
