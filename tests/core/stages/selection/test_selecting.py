import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eunoe.stages.selection import (
    SelectionCandidates,
    SparseSimilarity,
    Tier,
    knn_similarity,
    select_items,
    tier_elements,
    unit_rows,
)
from eunoe.stages.selection.selecting import select_plain

WORTH = st.floats(0, 1, width=16) | st.sampled_from([0.0, 0.5, float("nan")])


@st.composite
def pools(draw):
    size = draw(st.integers(0, 9))

    def column(values):
        return draw(st.lists(values, min_size=size, max_size=size))

    cost = np.asarray(column(st.integers(-2, 30)), dtype=int)
    elements = cost
    if draw(st.booleans()):
        elements = tier_elements(cost, gist=column(st.integers(-1, 9)), stub=[1] * size)
    rows = None
    if size and draw(st.booleans()):
        terms = np.asarray(
            [sorted(draw(st.sets(st.integers(0, 5), min_size=2, max_size=2))) for _ in cost]
        )
        indptr = np.arange(size + 1) * 2
        rows = knn_similarity(indptr, terms.ravel(), unit_rows(indptr, np.ones(2 * size)))
    forced = np.asarray(column(st.booleans()), bool) & np.asarray(column(st.booleans()), bool)
    return SelectionCandidates.of(
        column(WORTH),
        elements,
        draw(st.integers(-3, 150)),
        similarity=rows,
        forced=forced,
        protected=column(st.booleans()),
        barred=column(st.booleans()),
    )


ARGUMENTS = st.fixed_dictionaries(
    {
        "objective": st.sampled_from(["coverage", "mig"]),
        "exponent": st.sampled_from([0.5, 1.0, 0.0]),
        "policy": st.sampled_from(["preferred", "max_F"]),
    }
)


@pytest.mark.property
@settings(max_examples=50)
@given(pools(), ARGUMENTS)
def test_a_choice_fits_keeps_what_is_forced_and_leaves_what_is_barred(pool, arguments):
    choice = select_items(pool, **arguments)
    assert choice.chosen == tuple(sorted(set(choice.chosen)))
    assert set(np.flatnonzero(pool.forced)) <= set(choice.chosen)
    assert not set(np.flatnonzero(pool.barred)) & set(choice.chosen)
    assert len(choice.tiers) == len(choice.chosen)
    assert len(choice.order) == len(choice.gains)
    assert {*choice.order, *np.flatnonzero(pool.forced)} == set(choice.chosen)
    if choice.overage:
        assert choice.order == ()
        assert choice.cost == pool.budget + choice.overage
    elif choice.chosen:
        assert choice.cost <= pool.budget
    assert choice.cost == sum(
        int(pool.elements.cost[e])
        for item, tier in zip(choice.chosen, choice.tiers, strict=True)
        for e in range(pool.elements.start[item], pool.elements.start[item + 1])
        if pool.elements.tier[e] == tier
    )
    assert 0.0 <= choice.certificate.ratio <= 1.0
    assert choice.certificate.value <= choice.certificate.upper_bound
    for item, tier in zip(choice.chosen, choice.tiers, strict=True):
        assert tier == Tier.VERBATIM or not pool.protected[item]


@pytest.mark.property
@settings(max_examples=50)
@given(pools(), ARGUMENTS)
def test_the_same_input_gives_the_same_choice(pool, arguments):
    assert select_items(pool, **arguments) == select_items(pool, **arguments)


@pytest.mark.property
@settings(max_examples=50)
@given(pools())
def test_all_exponents_together_are_worth_no_less_than_each(pool):
    together = select_items(pool, policy="max_F").certificate.value
    for exponent in (0.5, 1.0, 0.0):
        assert together >= select_items(pool, exponent=exponent).certificate.value


@pytest.mark.property
@settings(max_examples=50)
@given(pools())
def test_what_was_left_out_no_longer_fits_or_adds_nothing(pool):
    if pool.similarity is not None or not pool.elements.is_plain:
        return
    choice = select_items(pool)
    for item in range(pool.size):
        if item not in choice.chosen and not pool.barred[item] and not choice.overage:
            assert pool.relevance[item] == 0.0 or pool.full_cost[item] > pool.budget - choice.cost


def choose(relevance, cost, budget, **masks):
    return select_items(SelectionCandidates.of(relevance, cost, budget, **masks))


@pytest.mark.parametrize(
    ("relevance", "cost", "budget", "chosen"),
    [
        pytest.param([], [], 10, (), id="nothing there"),
        pytest.param([0.0], [5], 10, (0,), id="everything fits, worth or not"),
        pytest.param([0.2, 0.3], [5, 5], 10, (0, 1), id="budget exactly the total"),
        pytest.param([0.2, 0.3], [5, 5], 9, (1,), id="one token short"),
        pytest.param([0.0, 0.3], [5, 5], 9, (1,), id="worthless items do not fill the room"),
        pytest.param([0.5, 0.5, 0.5], [5, 5, 5], 10, (1, 2), id="equal: the newest win"),
        pytest.param([0.5, 0.5], [0, -7], 1, (1,), id="cost of zero and below counts as 1"),
        pytest.param([0.5, 0.5], [0.2, 1.5], 2, (0,), id="fractions round up"),
        pytest.param([0.9, 0.1], [50, 5], 10, (1,), id="a misfit is skipped"),
        pytest.param([-0.5, 0.1], [5, 5], 5, (1,), id="negative worth is none"),
        pytest.param([1.0, 1.0], [5, 5], 0, (), id="no budget"),
        pytest.param([1.0, 1.0], [5, 5], -4, (), id="a negative budget"),
    ],
)
def test_tables(relevance, cost, budget, chosen):
    assert choose(relevance, cost, budget).chosen == chosen


@pytest.mark.parametrize("rows", [None, SparseSimilarity.of([0, 0, 0], [], [])])
def test_what_is_not_finite_counts_as_worthless_and_is_reported(rows):
    choice = choose([float("nan"), float("inf")], [5, 5], 5, similarity=rows)
    assert choice.chosen == ()
    assert choice.warnings == ("2 relevance values not finite, taken as 0",)
    assert choice.certificate.ratio == 1.0


def test_copies_are_not_chosen_twice_when_something_else_is_there():
    rows = SparseSimilarity.of([0, 1, 2, 2], [1, 0], [1.0, 1.0])
    pool = SelectionCandidates.of([1.0, 1.0, 0.6], [5, 5, 5], 10, similarity=rows)
    assert select_items(pool, beta=0.7).chosen == (1, 2)
    assert select_items(pool, beta=0.0).chosen == (0, 1)
    assert select_items(pool, beta=0.7, objective="mig").chosen == (1, 2)


def test_where_all_fit_a_part_may_still_be_worth_more_by_the_seeds_rule():
    rows = SparseSimilarity.of([0, 1, 2], [1, 0], [1.0, 1.0])
    pool = SelectionCandidates.of([1.0, 0.1], [5, 5], 10, similarity=rows)
    choice = select_items(pool, beta=0.7, objective="mig")
    assert choice.chosen == (0, 1)
    assert choice.certificate.value < 1.0 <= choice.certificate.upper_bound
    assert select_items(pool, beta=0.7).certificate.ratio == 1.0


def test_all_items_alike_and_forced():
    rows = SparseSimilarity.of([0, 2, 4, 6], [1, 2, 0, 2, 0, 1], np.ones(6))
    choice = choose([1.0] * 3, [5] * 3, 15, similarity=rows, forced=[True] * 3)
    assert (choice.chosen, choice.cost, choice.certificate.ratio) == ((0, 1, 2), 15, 1.0)


def test_forced_items_that_do_not_fit_are_kept_and_reported():
    choice = choose([0.1, 0.9, 0.5], [8, 3, 4], 10, forced=[True, False, True])
    assert (choice.chosen, choice.cost, choice.overage, choice.clip) == ((0, 2), 12, 2, None)


def test_forced_items_step_down_tier_by_tier_oldest_first():
    elements = tier_elements([10, 10, 10], gist=[4, 4, 4], stub=[1, 1, 1])
    forced = [True, True, True]
    for budget, tiers in [
        (30, (3, 3, 3)),
        (25, (1, 3, 3)),
        (18, (1, 1, 3)),
        (12, (1, 1, 1)),
        (9, (0, 1, 1)),
        (3, (0, 0, 0)),
    ]:
        choice = choose([0.5] * 3, elements, budget, forced=forced)
        assert (choice.tiers, choice.overage) == (tiers, 0)
    protected = choose([0.5] * 3, elements, 12, forced=forced, protected=[False, False, True])
    assert (protected.tiers, protected.cost) == ((0, 0, 3), 12)
    assert choose([0.5] * 3, elements, 2, forced=forced).overage == 1


def test_forced_wins_over_barred():
    assert choose([0.5], [5], 5, forced=[True], barred=[True]).chosen == (0,)


def test_the_most_relevant_item_is_named_for_clipping_when_none_fits():
    assert choose([0.2, 0.9, 0.9], [50, 60, 70], 10).clip == 2
    assert choose([0.2, 0.9, 0.9], [50, 60, 70], 10, barred=[False, False, True]).clip == 1
    assert choose([0.2], [50], 10, barred=[True]).clip is None
    assert choose([], [], 10).clip is None
    assert choose([0.2], [5], 10).clip is None


def test_a_long_item_is_shown_short_when_its_whole_does_not_fit():
    elements = tier_elements([100, 5], gist=[8, 0])
    choice = choose([1.0, 0.5], elements, 14)
    assert choice.chosen == (0, 1)
    assert choice.tiers == (Tier.GIST, Tier.VERBATIM)


def test_order_and_gains_say_what_was_picked_when():
    choice = choose([0.2, 0.9, 0.5], [4, 4, 4], 8)
    assert (choice.order, choice.gains) == ((1, 2), (0.9, 0.5))


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"objective": "best"}, "objective is 'best'"),
        ({"policy": "all"}, "policy is 'all'"),
        ({"exponent": -1.0}, "exponent is -1.0"),
        ({"exponent": float("nan")}, "exponent is nan"),
        ({"beta": 2.0}, "beta is 2.0"),
    ],
)
def test_arguments_out_of_range(arguments, match):
    with pytest.raises(ValueError, match=match):
        select_items(SelectionCandidates.of([1.0], [1], 1), **arguments)


@pytest.mark.property
@settings(max_examples=300)
@given(
    st.lists(
        st.tuples(st.sampled_from([0.0, 0.5, 1.0]) | st.floats(0.0, 4.0), st.integers(-1, 12)),
        max_size=30,
    ),
    st.integers(-2, 80),
)
def test_a_plain_choice_is_the_same_choice(items, budget):
    relevance = np.asarray([worth for worth, _ in items], dtype=float)
    cost = np.asarray([price for _, price in items], dtype=np.int64)
    candidates = SelectionCandidates.of(relevance, cost, budget)
    assert select_plain(relevance, cost, budget) == select_items(candidates, exponent=0.0)
