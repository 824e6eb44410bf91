from __future__ import annotations

import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eunoe.domain.cost import NO_COST, CostAccount, RequestCost, WayCost, money_text


def cost(usd: float | None = 0.0111, **more: object) -> RequestCost:
    def way(prompt: int, cached: int, dollars: float) -> WayCost:
        return WayCost(prompt=prompt, cached=cached, usd=None if usd is None else dollars)

    ways = {
        "sent": way(7900, 6100, usd or 0.0),
        "untouched": way(41_000, 39_500, 0.03),
        "window": way(7950, 0, 0.019),
    }
    return RequestCost(**{**ways, **more})


WAYS = "untouched ≈$0.030, plain window ≈$0.019"
OVER = "untouched ≈$0.030 (over the limit), plain window ≈$0.019"
CACHED = "≈7,900 tokens, ≈6,100 of them from the cache"
REPORTED = "7,900 tokens{}, 6,100 of them from the cache"


@pytest.mark.parametrize(
    ("made", "sent", "others"),
    [
        (cost(), f"≈$0.011 for {CACHED}", WAYS),
        (cost(0.0), f"≈$0 for {CACHED}", WAYS),
        (
            cost(measured=True, untouched_fits=False),
            f"$0.011 for {REPORTED.format(' and the answer')}",
            OVER,
        ),
        (
            cost(most_usd=0.02, sent=WayCost(prompt=7900, usd=0.015)),
            "≈$0.015 of $0.020 allowed for ≈7,900 tokens",
            WAYS,
        ),
        (cost(None), f"no price known: {CACHED}", "untouched ≈41,000, plain window ≈7,950"),
        (
            cost(None, measured=True, untouched_fits=False),
            f"no price known: {REPORTED.format('')}",
            "untouched ≈41,000 (over the limit), plain window ≈7,950",
        ),
    ],
)
def test_the_line_for_people(made: RequestCost, sent: str, others: str):
    assert made.describe() == f"{sent}; {others}"


@given(st.none() | st.floats(0, 1e4), st.booleans(), st.integers(0, 10**7))
def test_without_a_price_there_is_no_money(usd: float | None, measured: bool, prompt: int):
    ways = {name: WayCost(prompt=prompt, usd=usd) for name in ("sent", "untouched", "window")}
    line = RequestCost(**ways, measured=measured).describe()
    assert ("$" in line) is (usd is not None)
    others = line.split("; ")[1]
    assert others.count("≈") == 2  # what was never sent stays an estimate
    assert ("≈" in line.split("; ")[0]) is not measured
    assert "\n" not in line


def test_it_is_worked_out_when_it_is_looked_at_and_once():
    asked = []

    def make() -> RequestCost:
        asked.append(1)
        return cost()

    account = CostAccount(make)
    assert asked == []
    assert account.cost == account.cost == cost()
    assert asked == [1]


@pytest.mark.parametrize(
    "twin", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
def test_a_copy_is_a_value(twin):
    account = CostAccount(lambda: cost())
    same = twin(account)
    assert same == account == CostAccount.of(cost())
    assert hash(same) == hash(account)
    assert same.cost == cost()
    assert twin(NO_COST) == NO_COST != account
    assert NO_COST.cost is None
    assert account != cost()


@pytest.mark.parametrize(
    ("dollars", "text"),
    [
        (0, "$0"),
        (0.0000004, "<$0.000001"),
        (0.0000042, "$0.0000042"),
        (0.000415, "$0.00042"),
        (0.0038, "$0.0038"),
        (0.0114, "$0.011"),
        (0.0996, "$0.100"),
        (0.5, "$0.500"),
        (0.9999, "$1.000"),
        (1.239, "$1.24"),
        (312.4, "$312"),
        (12_345.6, "$12,346"),
        (-0.02, "-$0.020"),
    ],
)
def test_money(dollars: float, text: str):
    assert money_text(dollars) == text


@given(st.floats(1e-6, 1e9))
def test_money_is_short_and_true_to_the_second_digit(dollars: float):
    text = money_text(dollars)
    assert len(text) <= 14
    assert float(text[1:].replace(",", "")) == pytest.approx(dollars, rel=0.05)
