import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eunoe.stages.scoring.price import price_relevance


def test_by_hand():
    got = price_relevance(np.array([0.5, 0.5, 0.0]), np.array([1, 16, 5]), exponent=0.5)
    assert got == pytest.approx([1.0, 0.25, 0.0])


@pytest.mark.property
@given(st.lists(st.tuples(st.floats(0, 1), st.integers(-3, 10**6)), max_size=30))
def test_finite_and_longer_is_never_worth_more(pairs):
    values = np.array([r for r, _ in pairs])
    tokens = np.array([c for _, c in pairs], dtype=np.int64)
    price = price_relevance(values, tokens)
    assert np.isfinite(price).all()
    assert (price >= 0).all()
    assert (price_relevance(values, tokens + 10) <= price).all()
