from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array

from eunoe.domain.certificate import Certificate
from eunoe.stages.selection import (
    SelectionCandidates,
    SparseSimilarity,
    select_items,
    tier_elements,
)
from eunoe.stages.selection.certificate import (
    certify,
    checkpoint_places,
    critical_density,
    knapsack_bound,
    with_left_out,
)
from eunoe.stages.selection.ordering import largest_places
from eunoe.stages.selection.selecting import select_plain


def best_by_milp(candidates, beta):
    """The optimum of the coverage knapsack, by an integer program."""
    elements, r, rows = candidates.elements, candidates.relevance, candidates.similarity
    n, m = r.size, elements.item.size
    covers = [
        (k, e, elements.fidelity[e] * s)
        for e in range(m)
        for k, s in [
            (elements.item[e], 1.0),
            *zip(
                rows.indices[rows.indptr[elements.item[e]] : rows.indptr[elements.item[e] + 1]],
                rows.values[rows.indptr[elements.item[e]] : rows.indptr[elements.item[e] + 1]],
                strict=True,
            ),
        ]
    ]
    own = (1 - beta) * r[elements.item] * elements.fidelity
    spill = np.asarray([beta * r[k] * w for k, _, w in covers])
    entries = []  # (row, column, value)
    for y, (k, e, _) in enumerate(covers):
        entries += [(k, m + y, 1.0), (n + y, m + y, 1.0), (n + y, e, -1.0)]
    last = n + len(covers)
    for e in range(m):
        entries += [(last + elements.item[e], e, 1.0), (last + n, e, float(elements.cost[e]))]
    row, column, value = zip(*entries, strict=True)
    matrix = coo_array((value, (row, column)), shape=(last + n + 1, m + len(covers)))
    top = np.concatenate(
        [np.ones(n), np.zeros(len(covers)), np.ones(n), [float(candidates.budget)]]
    )
    low = np.zeros(m + len(covers))
    forced = elements.start[1:][candidates.forced] - 1
    low[forced] = 1.0
    answer = milp(
        -np.concatenate([own, spill]),
        constraints=LinearConstraint(matrix.tocsr(), ub=top),
        integrality=np.concatenate([np.ones(m), np.zeros(len(covers))]),
        bounds=Bounds(low, 1.0),
        options={"mip_rel_gap": 0.0},
    )
    assert answer.success
    return -answer.fun


def random_pool(seed, *, tiered=False):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 24))
    r = rng.random(n) ** 2
    cost = np.maximum(1, rng.lognormal(3, (0.3, 1.0, 1.6)[seed % 3], n)).astype(int)
    points = rng.normal(size=(n, 3))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    matrix = np.maximum(points @ points.T, 0.0)
    np.fill_diagonal(matrix, 0.0)
    matrix[matrix < 0.3] = 0.0
    row, column = np.nonzero(matrix)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=n))])
    elements = cost
    if tiered:
        some = rng.random(n) < 0.7  # not every item has a summary
        summary = np.where(some, np.maximum(cost // 2, 1), 0)
        gist, stub = np.maximum(cost // 4, 1), np.full(n, 2)
        elements = tier_elements(cost, summary=summary, gist=gist, stub=stub)
    forced = rng.random(n) < 0.1
    budget = int(cost[forced].sum() + rng.uniform(0.1, 0.7) * cost[~forced].sum())
    return SelectionCandidates.of(
        r,
        elements,
        budget,
        similarity=SparseSimilarity.of(indptr, column, matrix[row, column]),
        forced=forced,
    )


@pytest.mark.parametrize("tiered", [False, True], ids=["plain", "tiers"])
def test_the_certificate_holds_against_the_optimum(tiered):
    ratios, promised = [], []
    for seed in range(100):
        pool = random_pool(seed, tiered=tiered)
        best = best_by_milp(pool, 0.5)
        for policy in ("preferred", "max_F"):
            proof = select_items(pool, beta=0.5, policy=policy).certificate
            assert proof.value <= best * (1 + 1e-6)
            assert proof.upper_bound >= best * (1 - 1e-6)
        ratios.append(proof.value / best if best else 1.0)
        promised.append(proof.ratio)
    assert np.mean(ratios) > 0.97
    assert min(ratios) > 0.85
    assert np.mean(promised) > 0.85


def best_by_table(relevance, cost, budget):
    """The optimum of a plain 0/1 knapsack, by dynamic programming."""
    table = np.zeros(budget + 1)
    for gain, price in zip(relevance, cost, strict=True):
        if price <= budget:
            table[price:] = np.maximum(table[price:], table[: budget + 1 - price] + gain)
    return float(table[-1])


@pytest.mark.property
@given(
    st.lists(st.tuples(st.floats(0, 1, width=16), st.integers(1, 20)), min_size=1, max_size=12),
    st.integers(0, 120),
    st.sampled_from([0.0, 0.5, 1.0]),
)
def test_the_certificate_holds_against_dynamic_programming(items, budget, exponent):
    relevance, cost = zip(*items, strict=True)
    best = best_by_table(relevance, cost, budget)
    pool = SelectionCandidates.of(relevance, cost, budget)
    proof = select_items(pool, exponent=exponent).certificate
    assert proof.value <= best + 1e-9 <= proof.upper_bound + 2e-9
    if exponent == 1.0:
        assert proof.value >= best / 2 - 1e-9  # what Greedy+Max guarantees


@pytest.mark.property
@given(st.integers(0, 10_000), st.integers(0, 40))
def test_the_bound_is_above_every_choice_of_one_form_per_item(seed, budget):
    rng = np.random.default_rng(seed)
    cost = rng.integers(1, 20, 4)
    elements = tier_elements(cost, summary=cost // 2, gist=cost // 3, stub=cost // 4)
    gains = np.round(rng.random(elements.item.size), 2) * rng.integers(0, 2, elements.item.size)
    allowed = rng.random(4) < 0.9
    bound = knapsack_bound(gains, elements, budget, allowed)
    forms = [
        [None, *range(elements.start[i], elements.start[i + 1])] if allowed[i] else [None]
        for i in range(4)
    ]
    for choice in product(*forms):
        picked = [e for e in choice if e is not None]
        if elements.cost[picked].sum() <= budget:
            assert gains[picked].sum() <= bound + 1e-9
    assert bound <= gains.sum() + 1e-9


@pytest.mark.parametrize(
    ("value", "bound", "expected"),
    [
        pytest.param(0.0, 0.0, (0.0, 0.0, 1.0), id="nothing to gain"),
        pytest.param(1.0, 2.0, (1.0, 2.0, 0.5), id="half"),
        pytest.param(1.0, 0.9999999, (1.0, 1.0, 1.0), id="rounding"),
        pytest.param(0.0, 3.0, (0.0, 3.0, 0.0), id="nothing fits but something could"),
    ],
)
def test_certificate(value, bound, expected):
    proof = certify(value, bound)
    assert (proof.value, proof.upper_bound, proof.ratio) == expected


@pytest.mark.parametrize(
    ("picks", "limit", "expected"),
    [(0, 6, (0,)), (3, 6, (0, 1, 2, 3)), (100, 6, (0, 20, 40, 60, 80, 100)), (100, 1, (0,))],
)
def test_checkpoint_places(picks, limit, expected):
    assert checkpoint_places(picks, limit) == expected


@pytest.mark.property
@given(st.integers(0, 10_000), st.integers(0, 60), st.integers(1, 9))
def test_what_was_not_looked_at_is_not_forgotten(seed, budget, limit):
    rng = np.random.default_rng(seed)
    worth, cost = np.round(rng.random(12), 2), rng.integers(1, 20, 12)
    seen = largest_places(worth, limit)
    rest = np.delete(np.arange(12), seen)
    proof = select_plain(worth[seen], cost[seen], budget).certificate
    best = best_by_table(worth, cost, budget)
    density = critical_density(worth[seen], cost[seen], budget)
    for known in (0.0, density):
        whole = with_left_out(proof, worth[rest], cost[rest], budget, density=known)
        assert whole.value == proof.value
        assert whole.upper_bound >= best - 1e-9


def test_what_could_not_have_been_chosen_changes_no_certificate():
    proof = Certificate(value=1.0, upper_bound=2.0)
    for gains, costs in (([], []), ([0.0], [1]), ([5.0], [11])):
        more = with_left_out(proof, np.array(gains), np.array(costs, dtype=np.int64), 10)
        assert more is proof
    dense = critical_density(np.array([4.0, 1.0]), np.array([4, 4]), 6)
    assert dense == 0.25
    poor = with_left_out(proof, np.array([0.2]), np.array([1]), 6, density=dense)
    assert poor.upper_bound == proof.upper_bound
    assert critical_density(np.array([4.0, 1.0]), np.array([4, 4]), 8) == 0.0


@pytest.mark.property
@given(st.integers(0, 10_000), st.integers(2, 60))
def test_the_bound_is_above_every_way_in_which_forced_items_step_down(seed, budget):
    rng = np.random.default_rng(seed)
    cost = rng.integers(2, 20, 4)
    elements = tier_elements(cost, gist=np.maximum(cost // 2, 1), stub=np.ones(4, dtype=int))
    worth = np.round(rng.random(4), 2)
    forced = rng.random(4) < 0.6
    pool = SelectionCandidates.of(worth, elements, budget, forced=forced)
    whole = int(cost[forced].sum()) <= budget  # then they do not step down
    forms = [
        [*([] if forced[i] else [None]), *range(elements.start[i], elements.start[i + 1])]
        if not (whole and forced[i])
        else [elements.start[i + 1] - 1]
        for i in range(4)
    ]
    best = 0.0
    for taken in product(*forms):
        used = [e for e in taken if e is not None]
        if elements.cost[used].sum() <= budget:
            best = max(best, float((worth[elements.item[used]] * elements.fidelity[used]).sum()))
    for objective in ("coverage", "mig"):
        proof = select_items(pool, objective=objective).certificate
        assert proof.upper_bound >= best - 1e-9
