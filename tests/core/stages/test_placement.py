from __future__ import annotations

import pytest
from hypothesis import given, strategies

from eunoe.stages.placement import PlacementZones, u_shape_order, zoned_order

RELEVANCE = strategies.lists(strategies.sampled_from([0.0, 0.1, 0.5, 1.0]), max_size=12)


@pytest.mark.parametrize(
    ("relevance", "order"),
    [
        pytest.param([], [], id="none"),
        pytest.param([0.3], [0], id="one"),
        pytest.param([0.9, 0.1], [1, 0], id="the best stands last"),
        pytest.param([0.1, 0.2, 0.3, 0.4, 0.5], [3, 1, 0, 2, 4], id="rising"),
        pytest.param([0.5, 0.4, 0.3, 0.2, 0.1], [1, 3, 4, 2, 0], id="falling"),
        pytest.param([0.5, 0.5, 0.5], [0, 1, 2], id="equal: by time"),
        pytest.param([0.5, 0.9, 0.5], [2, 0, 1], id="among equals the newest"),
    ],
)
def test_the_most_relevant_stand_at_both_ends(relevance, order):
    assert u_shape_order(relevance) == order


def test_zones():
    zones = PlacementZones(head=frozenset({10, 30}), tail=frozenset({50, 30}))
    got = zoned_order([0.1, 0.2, 0.9, 0.8, 0.8, 0.0], [10, 20, 30, 40, 45, 50], zones)
    assert got == [0, 2, 4, 3, 1, 5]


@given(
    RELEVANCE,
    strategies.sets(strategies.integers(0, 11)),
    strategies.sets(strategies.integers(0, 11)),
)
def test_every_item_stands_once(relevance, head, tail):
    places = list(range(len(relevance)))
    zones = PlacementZones(frozenset(head), frozenset(tail))
    assert sorted(u_shape_order(relevance)) == places
    assert sorted(zoned_order(relevance, places, zones)) == places


@given(RELEVANCE)
def test_relevance_falls_to_the_middle_and_rises_again(relevance):
    shown = [relevance[i] for i in u_shape_order(relevance)]
    if len(set(relevance)) < 2:
        return
    least = len(shown) // 2
    assert shown[:least] == sorted(shown[:least], reverse=True)
    assert shown[least:] == sorted(shown[least:])
    assert shown[-1] == max(shown)
