import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eunoe.stages.selection import (
    SparseSimilarity,
    estimate_beta,
    estimate_beta_sparse,
    sample_positions,
)


def pair(cosine):
    return [[1.0, cosine], [cosine, 1.0]]


@pytest.mark.parametrize(
    ("cosine", "mode", "beta"),
    [
        pytest.param(np.zeros((0, 0)), "absolute", 0.3, id="none"),
        pytest.param([[1.0]], "absolute", 0.3, id="one"),
        pytest.param(pair(1.0), "absolute", 0.3, id="copies"),
        pytest.param(pair(1.0), "ratio", 0.3, id="copies, ratio"),
        pytest.param(pair(0.0), "absolute", 0.7, id="unrelated"),
        pytest.param(pair(-1.0), "absolute", 0.7, id="opposite is not more than unrelated"),
        pytest.param(pair(2.0**0.5 / 2), "absolute", 0.5, id="45 degrees, half way"),
        pytest.param(pair(2.0**0.5 / 2), "ratio", 0.7, id="45 degrees, even, so ratio is 1"),
        pytest.param(pair(float("nan")), "absolute", 0.7, id="not a number is unrelated"),
        pytest.param(pair(1.0000001), "absolute", 0.3, id="rounding above 1"),
    ],
)
def test_beta(cosine, mode, beta):
    assert estimate_beta(cosine, mode=mode) == pytest.approx(beta)


def test_only_the_absolute_mode_tells_copies_from_a_diverse_pool():
    def beta(spread, mode):
        angles = np.linspace(0.0, spread, 12)
        return estimate_beta(np.cos(angles[:, None] - angles[None, :]), mode=mode)

    assert beta(0.1, "ratio") == pytest.approx(beta(3.0, "ratio"))
    assert beta(0.1, "absolute") < 0.32 < 0.6 < beta(3.0, "absolute")


@pytest.mark.property
@given(st.integers(2, 8), st.integers(0, 1000), st.sampled_from(["absolute", "ratio"]))
def test_sparse_rows_give_the_same_beta(size, seed, mode):
    rng = np.random.default_rng(seed)
    matrix = np.where(rng.random((size, size)) < 0.6, rng.random((size, size)), 0.0)
    matrix = np.triu(matrix, 1)
    matrix += matrix.T
    indptr = np.concatenate([[0], np.cumsum((matrix > 0).sum(axis=1))])
    rows = SparseSimilarity.of(indptr, np.nonzero(matrix)[1], matrix[matrix > 0])
    dense = estimate_beta(matrix + np.eye(size), mode=mode)
    assert estimate_beta_sparse(rows, mode=mode) == pytest.approx(dense)
    assert 0.3 <= dense <= 0.7


def test_sparse_edges():
    assert estimate_beta_sparse(None) == 0.7
    assert estimate_beta_sparse(SparseSimilarity.of([0, 0], [], [])) == 0.3
    assert estimate_beta_sparse(SparseSimilarity.of([0, 0, 0], [], [])) == pytest.approx(0.7)


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"cosine": [1.0]}, "cosine has shape"),
        ({"cosine": [[1.0, 0.0]]}, "cosine has shape"),
        ({"cosine": pair(0.5), "mode": "best"}, "mode is 'best'"),
        ({"cosine": pair(0.5), "low": 0.9}, "beta bounds are 0.9, 0.7"),
        ({"cosine": pair(0.5), "high": 1.1}, "beta bounds are 0.3, 1.1"),
    ],
)
def test_arguments_out_of_range(arguments, match):
    with pytest.raises(ValueError, match=match):
        estimate_beta(**arguments)


def test_sparse_bounds_out_of_range():
    with pytest.raises(ValueError, match="beta bounds"):
        estimate_beta_sparse(None, low=-0.1)


@pytest.mark.property
@given(st.integers(0, 3000), st.integers(0, 300), st.integers(0, 2**70))
def test_samples_are_drawn_without_replacement(size, count, seed):
    drawn = sample_positions(size, count, seed)
    assert drawn.size == min(size, count)
    assert drawn.tolist() == sorted(set(drawn.tolist()))
    assert not drawn.size or (drawn[0] >= 0 and drawn[-1] < size)


def test_a_sample_is_the_same_everywhere():
    assert sample_positions(1000, 8).tolist() == [27, 31, 158, 226, 414, 568, 631, 681]
    assert sample_positions(1000, 5).tolist() == sample_positions(1000, 5, 42).tolist()
    assert sample_positions(1000, 5).tolist() != sample_positions(1000, 5, 43).tolist()
    counts = np.zeros(20)
    for seed in range(400):
        counts[sample_positions(20, 5, seed)] += 1
    assert counts.min() > 60  # 100 expected
    assert counts.max() < 140
