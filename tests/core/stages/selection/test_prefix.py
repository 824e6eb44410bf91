import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eunoe.stages.selection import PrefixCacheOptimizedAlgorithm, SelectionCandidates, tier_elements
from eunoe.stages.selection.prefix import cached_tokens, lock_lengths, lock_prefix, valid_prefix


def pool(ids, sent, *, budget=100, relevance=None, **others):
    size = len(ids)
    relevance = [0.5] * size if relevance is None else relevance
    others.setdefault("cost", [10] * size)
    return SelectionCandidates.of(
        relevance, budget=budget, ids=list(ids), sent=[list(s) for s in sent], **others
    )


@pytest.mark.parametrize(
    ("ids", "sent", "expected"),
    [
        pytest.param("abcd", [], (), id="nothing sent"),
        pytest.param("abcd", ["ab"], (0, 1), id="whole"),
        pytest.param("abcd", ["acd"], (0, 2, 3), id="what was left out then does not end it"),
        pytest.param("abcd", ["axd"], (0,), id="what is gone ends it"),
        pytest.param("abcd", ["cab"], (2,), id="order counts"),
        pytest.param("abcd", ["x", "ab"], (0, 1), id="the longest of all"),
        pytest.param("abcd", ["ac", "ab"], (0, 2), id="the newest among equals"),
        pytest.param("abab", ["aab"], (0, 2, 3), id="the same content twice"),
        pytest.param("abcd", ["x", "x", "x", "x", "x", "ab"], (), id="five sequences count"),
    ],
)
def test_valid_prefix(ids, sent, expected):
    assert valid_prefix(pool(ids, sent)) == expected


def test_without_ids_nothing_is_valid():
    plain = SelectionCandidates.of([0.5], [1], 1, sent=[["a"]])
    assert valid_prefix(plain) == ()


def test_barred_and_forced_items_end_the_prefix():
    barred = pool("abcd", ["abcd"], barred=[False, False, True, False])
    assert valid_prefix(barred) == (0, 1)
    between = pool("abcd", ["acd"], forced=[False, True, False, False])
    assert valid_prefix(between) == (0,)
    inside = pool("abcd", ["abd"], forced=[False, True, False, False])
    assert valid_prefix(inside) == (0, 1, 3)


@pytest.mark.parametrize(
    ("prefix", "head", "expected"),
    [
        (tuple(range(8)), 0, (2, 4, 6, 8)),
        (tuple(range(8)), 1, (1, 2, 4, 6, 8)),
        ((0, 3), 1, (1, 2)),
        ((3,), 1, (1,)),
    ],
)
def test_lock_lengths(prefix, head, expected):
    assert lock_lengths(prefix, head) == expected


def test_a_lock_bars_what_would_break_it():
    locked = lock_prefix(pool("abcde", [], barred=[False, False, False, False, True]), (0, 2))
    assert locked.forced.tolist() == [True, False, True, False, False]
    assert locked.protected.tolist() == [True, False, True, False, False]
    assert locked.barred.tolist() == [False, True, False, False, True]


def test_the_cache_is_hit_where_greedy_alone_would_miss_it():
    # b has become as relevant as a; without a lock it goes in and breaks the prefix a c
    turns = pool("abcde", ["acd"], budget=40, relevance=[0.5, 0.52, 0.5, 0.5, 0.5])
    free = PrefixCacheOptimizedAlgorithm(price=0.0).inner.select(turns)
    assert cached_tokens(turns, free) == 0
    choice = PrefixCacheOptimizedAlgorithm().select(turns)
    assert choice.chosen == (0, 2, 3, 4)
    assert cached_tokens(turns, choice) == 30
    # the bound is of the choice that was free to break the prefix
    assert choice.certificate.upper_bound == free.certificate.upper_bound
    assert choice.certificate.value < choice.certificate.upper_bound


def test_a_prefix_that_costs_too_much_worth_is_given_up():
    turns = pool("abcde", ["acd"], budget=40, relevance=[0.01, 1.0, 0.01, 0.01, 1.0])
    assert 1 in PrefixCacheOptimizedAlgorithm().select(turns).chosen
    assert 1 not in PrefixCacheOptimizedAlgorithm(price=5.0).select(turns).chosen


def test_a_prefix_larger_than_the_budget_is_locked_in_part():
    turns = pool("abcdefgh", ["abcdefgh"], budget=50, relevance=[0.5] * 8)
    choice = PrefixCacheOptimizedAlgorithm().select(turns)
    assert choice.chosen[:4] == (0, 1, 2, 3)
    assert choice.cost <= 50


def test_short_forms_are_not_counted_as_cached():
    turns = pool("ab", ["ab"], budget=12, cost=tier_elements([10, 10], gist=[2, 2]))
    choice = PrefixCacheOptimizedAlgorithm(price=0.0).inner.select(turns)
    assert (choice.chosen, cached_tokens(turns, choice)) == ((0, 1), 0)


def test_forced_items_that_do_not_fit_stay_reported():
    turns = pool("ab", ["a"], budget=5, forced=[False, True])
    assert PrefixCacheOptimizedAlgorithm().select(turns).overage == 5


@pytest.mark.property
@settings(max_examples=50)
@given(
    st.integers(2, 10),
    st.integers(20, 90),
    st.lists(st.sampled_from([0.2, 0.4, 0.5, 0.9]), min_size=10, max_size=10),
    st.data(),
)
def test_turn_by_turn_no_less_is_cached_than_by_greedy_at_a_high_price(size, budget, worth, data):
    keep = data.draw(st.lists(st.booleans(), min_size=size, max_size=size))
    ids = [f"m{i}" for i in range(size)]
    sent = [key for key, kept in zip(ids, keep, strict=True) if kept]
    turns = pool(ids, [sent], budget=budget, relevance=worth[:size])
    algorithm = PrefixCacheOptimizedAlgorithm(price=1000.0)
    choice, free = algorithm.select(turns), algorithm.inner.select(turns)
    assert choice.cost <= budget
    uncached = choice.cost - cached_tokens(turns, choice)
    assert uncached <= free.cost - cached_tokens(turns, free)


@pytest.mark.parametrize("price", [-1.0, float("inf"), float("nan")])
def test_price_out_of_range(price):
    with pytest.raises(ValueError, match="price is"):
        PrefixCacheOptimizedAlgorithm(price=price)


def test_lock_is_a_real_prefix_of_the_view():
    rng = np.random.default_rng(3)
    for _ in range(50):
        size = 12
        sent = sorted(rng.choice(size, 6, replace=False).tolist())
        turns = pool(
            [f"m{i}" for i in range(size)],
            [[f"m{i}" for i in sent]],
            budget=80,
            relevance=rng.random(size),
        )
        for length in lock_lengths(valid_prefix(turns), 0):
            locked = PrefixCacheOptimizedAlgorithm().inner.select(
                lock_prefix(turns, tuple(sent[:length]))
            )
            assert list(locked.chosen[:length]) == sent[:length]
            assert cached_tokens(turns, locked) >= 10 * length
