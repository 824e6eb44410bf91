from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eunoe.stages.structure.stance import (
    Stance,
    stance_confidence,
    stance_kernel,
    stance_of,
    stance_strength,
)

SHARE = st.floats(0.0, 1.0)
STANCES = st.lists(SHARE, min_size=3, max_size=3).filter(lambda x: sum(x) > 1e-6).map(stance_of)


@pytest.mark.parametrize(
    ("similarity", "support", "contradiction", "confidence", "value"),
    [
        pytest.param(0.8, 0.0, 0.0, 0.0, 0.8, id="likeness alone"),
        pytest.param(0.8, 0.9, 0.5, 0.0, 0.4, id="without confidence support counts nothing"),
        pytest.param(0.8, 1.0, 0.0, 1.0, 1.0, id="supported for sure"),
        pytest.param(0.8, 0.0, 0.0, 1.0, 0.0, id="with confidence likeness counts nothing"),
        pytest.param(0.8, 0.6, 0.5, 0.5, 0.35, id="0.5 * 0.3 + 0.5 * 0.4"),
        pytest.param(0.8, 0.6, 1.0, 0.5, 0.0, id="contradicted for sure"),
    ],
)
def test_the_kernel_by_hand(similarity, support, contradiction, confidence, value):
    got = stance_kernel(similarity, support, contradiction, confidence)
    assert got == pytest.approx(value)


@pytest.mark.parametrize(
    ("stance", "confidence", "value"),
    [
        # (1 - contradiction) (support + neutral * 0.8)
        pytest.param(Stance(0.0, 1.0, 0.0), 0.0, 0.8, id="neutral"),
        pytest.param(Stance(1.0, 0.0, 0.0), 1.0, 1.0, id="supported"),
        pytest.param(Stance(0.0, 0.0, 1.0), 1.0, 0.0, id="contradicted"),
        pytest.param(Stance(0.5, 0.5, 0.0), 0.5, 0.9, id="half supported"),
        pytest.param(Stance(0.0, 0.5, 0.5), 0.5, 0.2, id="half contradicted"),
        pytest.param(Stance(0.25, 0.5, 0.25), 0.5, 0.75 * 0.65, id="undecided"),
    ],
)
def test_the_strength_by_hand(stance, confidence, value):
    assert stance_confidence(stance) == pytest.approx(confidence)
    assert stance_strength(0.8, stance) == pytest.approx(value)


def test_without_a_stance_it_is_the_similarity():
    assert stance_strength(0.7, None) == 0.7
    assert stance_strength(0.7, Stance(0.0, 1.0, 0.0)) == 0.7


@pytest.mark.property
@given(SHARE, SHARE, SHARE, SHARE, SHARE)
def test_laws_of_the_kernel(similarity, support, contradiction, confidence, other):
    got = stance_kernel(similarity, support, contradiction, confidence)
    assert 0.0 <= got <= 1.0 + 1e-12
    assert stance_kernel(similarity, support, contradiction, 0.0) == pytest.approx(
        similarity * (1.0 - contradiction)
    )
    more = max(contradiction, other)
    assert stance_kernel(similarity, support, more, confidence) <= got + 1e-12
    more = max(support, other)
    assert stance_kernel(similarity, more, contradiction, confidence) >= got - 1e-12


@pytest.mark.property
@given(SHARE, STANCES, SHARE)
def test_laws_of_the_strength(similarity, stance, share):
    got = stance_strength(similarity, stance)
    assert 0.0 <= got <= 1.0 + 1e-12
    support, neutral, contradiction = stance
    moved = share * neutral
    doubted = Stance(support, neutral - moved, contradiction + moved)
    assert stance_strength(similarity, doubted) <= got + 1e-12
    backed = Stance(support + moved, neutral - moved, contradiction)
    assert stance_strength(similarity, backed) >= got - 1e-12
    moved = share * support
    turned = Stance(support - moved, neutral, contradiction + moved)
    assert stance_strength(similarity, turned) <= got + 1e-12


@pytest.mark.property
@given(STANCES)
def test_a_stance_is_a_distribution(stance):
    assert math.isclose(sum(stance), 1.0)
    assert all(0.0 <= value <= 1.0 for value in stance)


@pytest.mark.parametrize(
    ("said", "stance"),
    [((1.0, 0.0, 1.0), (0.5, 0.0, 0.5)), ([1, 0, 0], (1.0, 0.0, 0.0))],
)
def test_a_stance_is_scaled(said, stance):
    assert stance_of(said) == stance


@pytest.mark.parametrize(
    "said", [(), (1.0,), (0.0, 0.0, 0.0), (0.2, 0.3, 1.1), (-0.1, 0.5, 0.5), (math.nan, 0.5, 0.5)]
)
def test_what_is_no_stance(said):
    with pytest.raises(ValueError, match="three numbers"):
        stance_of(said)
