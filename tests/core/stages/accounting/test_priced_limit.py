"""What a budget allows for a model, where money is a part of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eunoe.domain.budget import CompositeBudget, CostBudget, TokenBudget
from eunoe.domain.errors import BudgetError
from eunoe.stages.accounting.price import PICODOLLARS, ModelPrice, TokenUse, request_cost
from eunoe.stages.accounting.price_table import ModelPricingTable
from eunoe.stages.accounting.priced_limit import allowed_by_price

PRICE = ModelPrice(input=2.5, cached=0.25, output=10)  # a cent buys 4,000 tokens
TABLE = ModelPricingTable({"m": PRICE})


class Halves:
    """A budget of somebody else's: 900 tokens, half of them where a price is known."""

    def allowed_tokens(self, price_per_token: float | None) -> int:
        return 450 if price_per_token else 900


class Spends:
    """A budget of somebody else's: what a cent buys, few tokens where no price is known."""

    def __init__(self, unpriced: int) -> None:
        self._unpriced = unpriced

    def allowed_tokens(self, price_per_token: float | None) -> int:
        return self._unpriced if price_per_token is None else int(0.01 / price_per_token + 1e-6)


@pytest.mark.parametrize(
    ("budget", "reserve", "tokens", "money", "usd"),
    [
        (TokenBudget(), 9, 0, 0, 0.0),
        (TokenBudget(8000), 1000, 8000, 0, 0.0),
        (CostBudget(0), 0, 0, 0, 0.0),
        (CostBudget(0.01), 0, 4000, 4000, 0.01),
        (CostBudget(0.01), 1000, 5000, 5000, 0.01),  # the answer is no input
        (CostBudget(0.01), 9000, 13_000, 13_000, 0.01),
        (CompositeBudget(TokenBudget(8000), CostBudget(0.01)), 1000, 5000, 5000, 0.01),
        (CompositeBudget(TokenBudget(4500), CostBudget(0.01)), 1000, 4500, 5000, 0.01),
        (CompositeBudget(TokenBudget(0), CostBudget(0.01)), 0, 4000, 4000, 0.01),
        (CompositeBudget(TokenBudget(8000)), 0, 8000, 0, 0.0),
        (CostBudget(0.01, price_per_token=1e-6), 7, 10_007, 10_007, 0.0),
        (Halves(), 0, 450, 450, 0.0),
        (Halves(), 100, 550, 550, 0.0),
        (Spends(500), 0, 4000, 4000, 0.0),
        (Spends(0), 0, 4000, 4000, 0.0),
        (CostBudget(1e308), 0, 2**53, 2**53, 1e308),
    ],
)
def test_a_known_price(budget, reserve, tokens, money, usd):
    limit = allowed_by_price(budget, TABLE, "m", reserve=reserve)
    assert (limit.tokens, limit.money, limit.usd, limit.notes) == (tokens, money, usd, ())
    assert (limit.prices, limit.model_id) == (TABLE, "m")
    assert limit.binding_usd == (usd if tokens == money else 0.0)


@pytest.mark.parametrize("model", ["other", "ollama/m", "", None])
@pytest.mark.parametrize(
    ("budget", "tokens"),
    [
        (CostBudget(0.01), 0),
        (CompositeBudget(TokenBudget(700), CostBudget(0.01)), 700),
        (Halves(), 900),
    ],
)
def test_an_unknown_price_leaves_the_tokens_and_is_said(budget, tokens, model):
    limit = allowed_by_price(budget, TABLE, model, reserve=50)
    assert (limit.tokens, limit.money, limit.usd, limit.binding_usd) == (tokens, 0, 0.0, 0.0)
    assert limit.notes == (f"the price of {model or 'no model'} is not known: money sets no limit",)


def test_nobody_asks_for_prices_where_money_plays_no_part():
    class Nobody:
        def get(self, model_id):
            raise AssertionError(model_id)

    for budget in (TokenBudget(5), CostBudget(0), CostBudget(1, price_per_token=1e-3)):
        allowed_by_price(budget, Nobody(), "m")


@given(
    tokens=st.integers(0, 10**6),
    usd=st.floats(1e-7, 10),
    reserve=st.integers(0, 10**5),
    dear=st.floats(0.01, 100),
    write=st.none() | st.floats(0.01, 100),
    long_from=st.integers(0, 300_000),
)
def test_what_is_left_for_the_input_never_costs_more(tokens, usd, reserve, dear, write, long_from):
    price = ModelPrice(input=dear, output=1, write=write, long_from=long_from)
    budget = CompositeBudget(TokenBudget(tokens), CostBudget(usd))
    limit = allowed_by_price(budget, ModelPricingTable({"m": price}), "m", reserve=reserve)
    assert not tokens or limit.tokens <= tokens
    prompt = max(0, limit.tokens - reserve)
    written = prompt if write is not None else 0
    for use in (TokenUse(prompt=prompt), TokenUse(prompt=prompt, written=written)):
        assert prompt <= 1 or request_cost(price, use) <= usd * PICODOLLARS * (1 + 1e-6) + 1


def test_a_refusal_names_the_money_that_it_is_for():
    error = BudgetError(120, 90, 10)
    by_money = allowed_by_price(CostBudget(0.000225), TABLE, "m")
    assert by_money.refusal(error).most_usd == 0.000225
    by_tokens = allowed_by_price(CompositeBudget(TokenBudget(90), CostBudget(5)), TABLE, "m")
    refused = by_tokens.refusal(error)
    assert refused.most_usd == 0
    assert str(refused) == str(error)
    assert (refused.needed, refused.allowed, refused.reserve) == (120, 90, 10)
