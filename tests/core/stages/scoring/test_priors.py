"""Flags of a message, and what they add."""

from __future__ import annotations

import pytest

from eunoe.stages.scoring.analysis import analyse_text
from eunoe.stages.scoring.priors import (
    PRIOR_FLAG_FIRST_PERSON,
    PRIOR_FLAG_STANDING,
    PRIOR_FLAG_TIME,
    PRIOR_FLAG_TOOL,
    prior_flags,
    priors_by_flags,
)
from eunoe.stages.scoring.settings import SignalWeights


@pytest.mark.parametrize(
    ("role", "text", "flags"),
    [
        ("user", "the port is open", 0),
        ("user", "they met on Tuesday", PRIOR_FLAG_TIME),
        ("user", "always answer in French", PRIOR_FLAG_STANDING),
        ("assistant", "always answer in French", 0),
        ("user", "my sister lives here", PRIOR_FLAG_FIRST_PERSON),
        ("tool", "the port is open", PRIOR_FLAG_TOOL),
        ("function", "the port is open", PRIOR_FLAG_TOOL),
    ],
)
def test_flags_of_a_message(role, text, flags):

    assert prior_flags(analyse_text(text, role=role)) == flags


def test_each_flag_adds_its_weight_whatever_else_is_told():
    weights = SignalWeights(standing=2.0, first_person=3.0, tool=-5.0)
    standing, first_person, tool = priors_by_flags(weights)
    for flags in range(16):
        assert standing[flags] == (2.0 if flags & PRIOR_FLAG_STANDING else 0.0)
        assert first_person[flags] == (3.0 if flags & PRIOR_FLAG_FIRST_PERSON else 0.0)
        assert tool[flags] == (-5.0 if flags & PRIOR_FLAG_TOOL else 0.0)
