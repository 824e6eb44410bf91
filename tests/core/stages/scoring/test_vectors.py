import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eunoe.stages.scoring.vectors import VectorTable, beyond_chance, unit_vector, vector_column

sizes = st.integers(0, 150)


def plain(values, **more):
    n = len(values)
    tokens = more.pop("tokens", np.full(n, 10.0))
    segment = more.pop("segment", np.zeros(n, dtype=np.int64))
    return vector_column(np.array(values, dtype=np.float64), tokens, segment, near=0.0, **more)


@pytest.mark.parametrize(
    "bad",
    [[], [0.0, 0.0], [math.nan, 1.0], [math.inf, 1.0], [[1.0]], ["a"], None, [1.0, None], 3.0],
)
def test_what_is_no_vector(bad):
    assert unit_vector(bad) is None


def test_a_vector_has_length_one_whatever_it_had():
    for size in (1e-5, 1.0, 1e30):
        vector = unit_vector([3.0 * size, 4.0 * size])
        assert vector is not None
        assert vector.dtype == np.float32
        assert vector.tolist() == pytest.approx([0.6, 0.8])


@given(rows=st.lists(st.integers(0, 200), max_size=60), sizes=st.lists(sizes, max_size=4))
def test_a_table_filled_late_equals_one_filled_at_once(rows, sizes):
    vectors = np.eye(3, dtype=np.float32)
    late, once = VectorTable(3), VectorTable(3)
    once.grow(max([0, *sizes, *(r + 1 for r in rows)]))
    for row in sorted(set(rows)):
        once.put(row, vectors[row % 3])
    for size in sizes:
        late.grow(size)
    for row in rows:
        late.put(row, vectors[row % 3])
    late.grow(len(once))
    assert len(late) == len(once)
    assert late.unknown() == once.unknown() == sorted(set(range(len(once))) - set(rows))
    for upto in (0, len(once) // 2, len(once), len(once) + 5):
        first = late.likeness(vectors[0], upto=upto)
        assert first.shape == (upto,)
        np.testing.assert_array_equal(first, once.likeness(vectors[0], upto=upto))


def test_another_dimension_is_no_vector():
    table = VectorTable(2)
    assert not table.put(0, np.ones(3, dtype=np.float32))
    assert table.put(0, np.array([1.0, 0.0], dtype=np.float32))
    assert np.isnan(table.likeness(np.ones(3, dtype=np.float32), upto=1)).all()


def test_missing_ones_are_neutral_and_too_few_say_nothing():
    got = plain([0.9, math.nan, 0.1])
    assert got is not None
    assert got.tolist() == pytest.approx([1.0, 0.0, -1.0])
    assert plain([0.5, math.nan]) is None
    assert plain([0.5, 0.5, 0.5]) is None
    assert plain([]) is None


def test_what_length_explains_is_taken_out():
    tokens = np.exp(np.linspace(0.0, 6.0, 50))
    cosine = 0.1 + 0.1 * np.log(tokens)
    cosine[20] += 0.05
    got = plain(cosine, tokens=tokens)
    assert got is not None
    assert int(np.argmax(got)) == 20


def test_what_stands_out_is_found_though_its_length_is_rare():
    tokens = np.where(np.arange(60) % 2, 20.0, 40.0)
    cosine = 0.1 + 0.01 * np.sin(np.arange(60.0))
    tokens[6], cosine[6] = 10.0, 0.9
    got = plain(cosine, tokens=tokens)
    assert got is not None
    assert beyond_chance(got)[6] > 0.0


def test_a_scale_or_a_shift_of_all_cosines_changes_nothing():
    cosine = np.sin(np.arange(40.0))
    tokens = 5.0 + np.arange(40.0) % 7
    one, other = plain(cosine, tokens=tokens), plain(0.7 + 0.1 * cosine, tokens=tokens)
    assert one is not None
    assert other is not None
    assert one == pytest.approx(other)


def test_neighbours_of_one_segment_share():
    cosine = np.array([0.0, 1.0, 0.0, 0.0])
    segment = np.array([0, 0, 1, 1])
    alone = vector_column(cosine, np.full(4, 10.0), segment, near=0.0)
    beside = vector_column(cosine, np.full(4, 10.0), segment, near=0.5)
    assert alone is not None
    assert beside is not None
    assert beside[0] == pytest.approx(alone[0] + 0.5 * alone[1])
    assert beside[2] == pytest.approx(alone[2] + 0.5 * alone[3])


def test_beyond_chance_grows_with_the_number_of_messages():
    few, many = np.zeros(10), np.zeros(10_000)
    few[3] = many[3] = 3.5
    assert beyond_chance(few)[3] > 0.0 == beyond_chance(many)[3]
    assert beyond_chance(np.zeros(0)).size == 0
