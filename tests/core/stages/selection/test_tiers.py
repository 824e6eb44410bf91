import numpy as np
import pytest

from eunoe.stages.selection import Tier, tier_elements
from eunoe.stages.selection.tiers import TIER_FIDELITY, best_tiers, clean_costs, plain_elements


def rows(elements):
    return list(
        zip(
            elements.item.tolist(),
            [Tier(tier).name for tier in elements.tier],
            elements.fidelity.tolist(),
            elements.cost.tolist(),
            strict=True,
        )
    )


def test_forms_are_sorted_by_item_then_cost():
    elements = tier_elements([20, 9], summary=[10, 0], gist=[5, 4], stub=[2, 2])
    assert rows(elements) == [
        (0, "STUB", 0.2, 2),
        (0, "GIST", 0.35, 5),
        (0, "SUMMARY", 0.6, 10),
        (0, "VERBATIM", 1.0, 20),
        (1, "STUB", 0.2, 2),
        (1, "GIST", 0.35, 4),
        (1, "VERBATIM", 1.0, 9),
    ]
    assert elements.start.tolist() == [0, 4, 7]
    assert not elements.is_plain


def test_a_short_form_that_saves_nothing_is_left_out():
    elements = tier_elements([5, 5, 1], summary=[5, 3, -1], gist=[6, 3, 1], stub=[4, 4, 0])
    assert rows(elements) == [
        (0, "STUB", 0.2, 4),
        (0, "VERBATIM", 1.0, 5),
        (1, "SUMMARY", 0.6, 3),
        (1, "VERBATIM", 1.0, 5),
        (2, "VERBATIM", 1.0, 1),
    ]


def test_no_items():
    assert tier_elements([]).item.size == 0
    assert tier_elements([], gist=[]).start.tolist() == [0]


@pytest.mark.parametrize(
    "fidelity",
    [
        {**TIER_FIDELITY, Tier.STUB: 0.35},
        {**TIER_FIDELITY, Tier.STUB: -0.1},
        {**TIER_FIDELITY, Tier.VERBATIM: 1.5},
    ],
)
def test_fidelities_that_do_not_grow(fidelity):
    with pytest.raises(ValueError, match="fidelity is"):
        tier_elements([1], fidelity=fidelity)


def test_shapes_that_do_not_agree():
    with pytest.raises(ValueError, match="gist has shape"):
        tier_elements([1, 2], gist=[1])


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([], []),
        ([3, 0, -2], [3, 1, 1]),
        ([0.1, 2.0, 2.1, -1.5], [1, 2, 3, 1]),
        (np.asarray([2**40]), [2**40]),
        ([True, False], [1, 1]),
    ],
)
def test_costs_are_whole_and_at_least_1(given, expected):
    assert clean_costs(given).tolist() == expected


@pytest.mark.parametrize("given", [[[1]], 3, [float("inf")], [float("nan")], [1e19], [2**62]])
def test_costs_that_are_none(given):
    with pytest.raises(ValueError, match="cost h"):
        clean_costs(given)


def test_the_fullest_picked_form_counts():
    elements = tier_elements([9, 9], gist=[3, 3])
    assert best_tiers(elements, [3, 2, 0]) == {0: 0, 1: 3}
    assert best_tiers(plain_elements(clean_costs([1])), []) == {}
