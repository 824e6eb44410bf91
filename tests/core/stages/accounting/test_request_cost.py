"""What one request costs, for its report."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eunoe.domain.cost import WayCost
from eunoe.stages.accounting.entry import account_requests
from eunoe.stages.accounting.forecast import PromptForecast, RequestForecast
from eunoe.stages.accounting.ledger import Ledger
from eunoe.stages.accounting.price import ModelPrice, TokenUse
from eunoe.stages.accounting.price_table import ModelPricingTable
from eunoe.stages.accounting.request_cost import cost_of_entry, estimated_cost

FORECAST = RequestForecast(
    sent=PromptForecast(prompt=8000, repeated=6000),
    untouched=PromptForecast(prompt=40_000, repeated=39_000),
    window=PromptForecast(prompt=8000, repeated=0),
    untouched_fits=False,
)
PRICE = ModelPrice(input=2.5, cached=0.25, output=10)
TABLE = ModelPricingTable({"m": PRICE})
PROMPTS = st.integers(0, 500_000).flatmap(
    lambda n: st.builds(PromptForecast, prompt=st.just(n), repeated=st.integers(0, n))
)
FORECASTS = st.builds(RequestForecast, sent=PROMPTS, untouched=PROMPTS, window=PROMPTS)


def test_an_estimate():
    cost = estimated_cost(lambda: FORECAST, TABLE, "m", most_usd=0.02).cost
    assert cost is not None
    assert cost.sent == WayCost(prompt=8000, cached=6000, usd=pytest.approx(0.0065))
    assert cost.untouched.usd == pytest.approx(0.01225)
    assert cost.window.usd == pytest.approx(0.02)
    assert (cost.measured, cost.untouched_fits, cost.most_usd) == (False, False, 0.02)
    cold = estimated_cost(lambda: FORECAST, TABLE, "m", hit_share=0.0).cost
    assert cold is not None
    assert cold.sent == WayCost(prompt=8000, cached=0, usd=pytest.approx(0.02))


def test_a_report_of_the_provider_takes_the_place_of_the_estimate():
    reported = TokenUse(prompt=8200, cached=4000, completion=100)
    cost = cost_of_entry(account_requests([FORECAST], PRICE, reported=reported))
    assert cost is not None
    assert cost.measured
    assert cost.sent == WayCost(prompt=8200, cached=4000, usd=pytest.approx(0.0125))


@pytest.mark.parametrize("model", ["other", None, "", "ollama/m"])
def test_of_a_model_without_a_price_there_are_tokens_alone(model):
    cost = estimated_cost(lambda: FORECAST, TABLE, model).cost
    assert cost is not None
    assert {cost.sent.usd, cost.untouched.usd, cost.window.usd} == {None}
    assert [w.prompt for w in (cost.sent, cost.untouched, cost.window)] == [8000, 40_000, 8000]


def test_no_request_and_several_have_no_cost_of_one():
    assert cost_of_entry(Ledger()) is None
    assert cost_of_entry(account_requests([FORECAST] * 2, PRICE)) is None


def test_nothing_is_asked_before_somebody_looks():
    asked = []

    class Prices:
        def get(self, model_id):
            asked.append(model_id)
            return PRICE

    def foresee():
        asked.append("forecast")
        return FORECAST

    account = estimated_cost(foresee, Prices(), "m")
    assert asked == []
    assert account.cost is account.cost
    assert sorted(asked) == ["forecast", "m"]


@given(FORECASTS, st.none() | st.just(PRICE), st.floats(0, 1))
def test_the_report_and_the_ledger_say_the_same(forecast, price, share):
    table = ModelPricingTable({} if price is None else {"m": price})
    cost = estimated_cost(lambda: forecast, table, "m", hit_share=share).cost
    entry = account_requests([forecast], price, hit_share=share)
    assert cost is not None
    assert cost == cost_of_entry(entry)
    for way, tally in (
        (cost.sent, entry.total.sent),
        (cost.untouched, entry.total.untouched),
        (cost.window, entry.total.window),
    ):
        assert (way.prompt, way.cached) == (tally.prompt, tally.cached)
        assert way.usd == (None if price is None else tally.cost_usd)
        assert way.cached <= way.prompt


class BrokenPrices:
    def get(self, model_id: str | None) -> ModelPrice | None:
        raise OSError("no prices today")


def test_a_lookup_that_fails_leaves_the_tokens():
    cost = estimated_cost(lambda: FORECAST, BrokenPrices(), "m").cost
    unknown = estimated_cost(lambda: FORECAST, TABLE, "other").cost
    assert cost == unknown
    assert cost is not None
    assert cost.sent == WayCost(prompt=8000, cached=6000, usd=None)
