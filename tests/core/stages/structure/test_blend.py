import numpy as np
import pytest

from eunoe.stages.structure.blend import (
    blend_rank,
    budget_pressure,
    direct_share,
    normal_cosine,
    normal_entropy,
)


def test_normal_cosine():
    assert [normal_cosine(x) for x in (-2.0, -1.0, 0.0, 1.0)] == [0.0, 0.0, 0.5, 1.0]


def test_entropy():
    assert normal_entropy(np.ones(4)) == pytest.approx(1.0)
    assert normal_entropy(np.array([1.0, 0.0, 0.0])) == 0.0
    assert normal_entropy(np.array([1.0])) == normal_entropy(np.zeros(3)) == 0.0
    assert normal_entropy(np.array([1.0, 1.0, 0.0, 0.0])) == pytest.approx(0.5)


def test_share_by_hand():
    assert direct_share(0.5, 0.0) == pytest.approx(0.5)
    assert direct_share(1.0, 0.0) == pytest.approx(0.7)
    assert direct_share(0.0, 0.0) == pytest.approx(0.3)
    assert direct_share(1.0, 1.0) == 0.95
    assert direct_share(0.5, 0.5) == pytest.approx(0.575)
    assert [budget_pressure(b, 100.0) for b in (25.0, 200.0, 0.0)] == [0.75, 0.0, 1.0]
    assert budget_pressure(10.0, 0.0) == 0.0


def test_blend_by_hand():
    got = blend_rank(np.array([1.0, 0.0, 0.0]), np.array([0.1, 0.2, 0.0]), 0.5)
    assert got == pytest.approx([0.75, 0.5, 0.01])
    assert blend_rank(np.zeros(0), np.zeros(0), 0.5).size == 0
