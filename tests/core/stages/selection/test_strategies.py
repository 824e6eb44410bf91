import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eunoe.stages.selection import (
    CoverageAlgorithm,
    DependencyAwareAlgorithm,
    GreedyByWeightAlgorithm,
    PrefixCacheOptimizedAlgorithm,
    RecencyBiasedAlgorithm,
    SelectionCandidates,
    Tier,
    select_items,
    tier_elements,
)

ALGORITHMS = [
    CoverageAlgorithm(),
    CoverageAlgorithm(policy="max_F", exponent=1.0),
    GreedyByWeightAlgorithm(),
    GreedyByWeightAlgorithm(prefer_summarize=False),
    RecencyBiasedAlgorithm(),
    DependencyAwareAlgorithm(),
    DependencyAwareAlgorithm(CoverageAlgorithm()),
    PrefixCacheOptimizedAlgorithm(),
    PrefixCacheOptimizedAlgorithm(inner=CoverageAlgorithm()),
]


@st.composite
def pools(draw):
    size = draw(st.integers(0, 9))

    def column(values):
        return draw(st.lists(values, min_size=size, max_size=size))

    cost = np.asarray(column(st.integers(1, 20)), dtype=int)
    elements = tier_elements(cost, gist=column(st.integers(-1, 6))) if draw(st.booleans()) else cost
    ids = [f"m{i}" for i in range(size)]
    return SelectionCandidates.of(
        column(st.sampled_from([0.0, 0.25, 0.5, 1.0])),
        elements,
        draw(st.integers(0, 120)),
        forced=np.asarray(column(st.integers(0, 3))) == 0,
        barred=np.asarray(column(st.integers(0, 3))) == 0,
        groups=column(st.integers(-1, 3)),
        ids=ids,
        sent=[draw(st.lists(st.sampled_from([*ids, "gone"]), max_size=8)) for _ in range(2)],
    )


@pytest.mark.property
@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda a: a.name)
@settings(max_examples=40)
@given(pool=pools())
def test_every_algorithm_keeps_the_budget_and_what_is_forced(algorithm, pool):
    choice = algorithm.select(pool)
    assert choice == algorithm.select(pool)
    assert choice.chosen == tuple(sorted(set(choice.chosen)))
    assert set(np.flatnonzero(pool.forced)) <= set(choice.chosen)
    assert choice.cost - choice.overage <= pool.budget
    assert len(choice.chosen) == len(choice.tiers)
    assert len(choice.order) == len(choice.gains)
    assert 0.0 <= choice.certificate.ratio <= 1.0


def choose(algorithm, relevance, cost, budget, **others):
    return algorithm.select(SelectionCandidates.of(relevance, cost, budget, **others)).chosen


@pytest.mark.parametrize(
    ("relevance", "cost", "budget", "chosen"),
    [
        pytest.param([0.1, 0.9, 0.5], [4, 4, 4], 8, (1, 2), id="heaviest first"),
        pytest.param([0.5, 0.5, 0.5], [4, 4, 4], 8, (1, 2), id="equal: the newest win"),
        pytest.param([0.9, 0.1, 0.2], [20, 4, 4], 8, (1, 2), id="a misfit is skipped"),
        pytest.param([0.9, 0.8, 0.8], [9, 5, 5], 10, (0,), id="weight, not density"),
        pytest.param([0.0, 0.0, 0.5], [4, 4, 4], 8, (1, 2), id="worthless items fill the room"),
        pytest.param([], [], 8, (), id="nothing there"),
    ],
)
def test_greedy_by_weight(relevance, cost, budget, chosen):
    assert choose(GreedyByWeightAlgorithm(), relevance, cost, budget) == chosen


def test_greedy_by_weight_shows_a_misfit_in_short():
    pool = SelectionCandidates.of([0.9, 0.5], tier_elements([20, 4], gist=[3, 2]), 8)
    short = GreedyByWeightAlgorithm().select(pool)
    assert (short.tiers, short.cost) == ((Tier.GIST, Tier.VERBATIM), 7)
    whole = GreedyByWeightAlgorithm(prefer_summarize=False).select(pool)
    assert (whole.chosen, whole.tiers) == ((1,), (Tier.VERBATIM,))
    assert short.certificate.value == pytest.approx(0.9 * 0.35 + 0.5)
    assert whole.certificate.value == pytest.approx(0.5)


def test_recency_lifts_the_newest_by_the_factor():
    relevance, cost = [0.8, 0.5, 0.3], [4, 4, 4]
    assert choose(GreedyByWeightAlgorithm(), relevance, cost, 4) == (0,)
    assert choose(RecencyBiasedAlgorithm(), relevance, cost, 4) == (1,)  # .8, 1.0, .9
    assert choose(RecencyBiasedAlgorithm(recency_factor=9.0), relevance, cost, 4) == (2,)
    assert choose(RecencyBiasedAlgorithm(recency_factor=0.0), relevance, cost, 4) == (0,)
    assert choose(RecencyBiasedAlgorithm(), [0.5], [4], 4) == (0,)


@pytest.mark.parametrize("factor", [-0.1, float("inf"), float("nan")])
def test_recency_factor_out_of_range(factor):
    with pytest.raises(ValueError, match="recency_factor is"):
        RecencyBiasedAlgorithm(recency_factor=factor)


@pytest.mark.property
@settings(max_examples=40)
@given(pools(), st.sampled_from([GreedyByWeightAlgorithm(), CoverageAlgorithm()]))
def test_groups_are_chosen_whole_or_not_at_all(pool, inner):
    choice = DependencyAwareAlgorithm(inner).select(pool)
    for label in range(4):
        members = set(np.flatnonzero(pool.groups == label))
        assert members <= set(choice.chosen) or not members & set(choice.chosen)


def test_a_group_is_worth_its_best_item_and_costs_all():
    relevance, cost, groups = [0.1, 0.9, 0.5], [4, 4, 4], [7, 7, -1]
    algorithm = DependencyAwareAlgorithm()
    assert choose(algorithm, relevance, cost, 8, groups=groups) == (0, 1)
    assert choose(algorithm, relevance, cost, 7, groups=groups) == (2,)
    assert choose(algorithm, relevance, cost, 7) == (1,)  # without groups: the inner algorithm
    whole = algorithm.select(SelectionCandidates.of(relevance, cost, 8, groups=groups))
    assert (whole.order, whole.gains) == ((0, 1), (0.9, 0.0))
    none = algorithm.select(SelectionCandidates.of(relevance, cost, 3, groups=[7, 7, 7]))
    assert (none.chosen, none.clip) == ((), 1)


def test_names():
    assert [algorithm.name for algorithm in ALGORITHMS] == [
        "coverage",
        "coverage",
        "greedy_by_weight",
        "greedy_by_weight",
        "recency_biased",
        "dependency_aware(greedy_by_weight)",
        "dependency_aware(coverage)",
        "prefix_cache(greedy_by_weight)",
        "prefix_cache(coverage)",
    ]


def test_the_default_is_the_plain_function():
    pool = SelectionCandidates.of([0.3, 0.2, 0.9], [3, 2, 5], 7)
    assert CoverageAlgorithm(exponent=1.0).select(pool) == select_items(pool, exponent=1.0)
