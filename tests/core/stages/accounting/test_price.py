"""What tokens cost, in whole picodollars."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eunoe import CompositeBudget, CostBudget, SettingsError, TokenBudget, TokenTargetBudget
from eunoe.stages.accounting.price import (
    PICODOLLARS,
    ModelPrice,
    TokenUse,
    affordable_tokens,
    depends_on_price,
    request_cost,
)

money = st.floats(0, 200, allow_nan=False).map(lambda x: round(x, 4))
maybe_money = st.none() | money
prices = st.builds(
    ModelPrice,
    input=money,
    output=money,
    cached=maybe_money,
    write=maybe_money,
    long_from=st.sampled_from([0, 1000, 200_000]),
    long_input=st.floats(1, 5),
    long_output=st.floats(1, 5),
)
counts = st.integers(0, 2_000_000)
uses = st.builds(TokenUse.of, counts, counts, counts, counts)


@pytest.mark.parametrize(
    ("use", "dollars"),
    [
        (TokenUse(prompt=1_000_000), 3.0),
        (TokenUse(prompt=1_000_000, cached=1_000_000), 0.3),
        (TokenUse(prompt=1_000_000, written=1_000_000), 3.75),
        (TokenUse(prompt=10_000, cached=6_000, written=3_000, completion=500), 0.02355),
        (TokenUse(), 0.0),
    ],
)
def test_by_hand(use: TokenUse, dollars: float):
    # 1,000 fresh at 3, 6,000 cached at 0.3, 3,000 written at 3.75, 500 out at 15, each per million
    price = ModelPrice(input=3, cached=0.3, write=3.75, output=15)
    assert request_cost(price, use) == round(dollars * PICODOLLARS)


def test_cached_and_written_tokens_cost_the_input_where_no_price_says_otherwise():
    price = ModelPrice(input=2.5, output=10)
    use = TokenUse(prompt=1000, cached=400, written=300)
    assert request_cost(price, use) == request_cost(price, TokenUse(prompt=1000))


def test_a_long_prompt_has_its_price_from_one_token_over():
    price = ModelPrice(input=1.25, cached=0.125, output=10, long_from=200_000)
    at = request_cost(price, TokenUse(prompt=200_000, completion=100))
    over = request_cost(price, TokenUse(prompt=200_001, completion=100))
    assert at == (200_000 * 1.25 + 100 * 10) * 1e6
    assert over == (200_001 * 2.5 + 100 * 15) * 1e6


@given(prices, uses)
def test_cost_is_a_whole_number_not_below_zero(price: ModelPrice, use: TokenUse):
    cost = request_cost(price, use)
    assert isinstance(cost, int)
    assert cost >= 0
    assert cost or not any((price.input, price.output, price.cached, price.write)) or cost == 0


@given(prices, uses, st.floats(0, 1))
def test_a_cheaper_price_never_raises_cost(price: ModelPrice, use: TokenUse, factor: float):
    cheaper = [
        {"input": price.input * factor},
        {"output": price.output * factor},
        {"cached": (price.input if price.cached is None else price.cached) * factor},
        {"write": (price.input if price.write is None else price.write) * factor},
    ]
    whole = {name: getattr(price, name) for name in ModelPrice.__dataclass_fields__}
    for change in cheaper:
        assert request_cost(ModelPrice(**{**whole, **change}), use) <= request_cost(price, use)


@given(prices, uses, counts)
def test_more_tokens_never_cost_less(price: ModelPrice, use: TokenUse, more: int):
    assert request_cost(price, use + TokenUse(prompt=more)) >= request_cost(price, use)
    assert request_cost(price, use + TokenUse(completion=more)) >= request_cost(price, use)


@given(counts, counts, counts, counts)
def test_counts_that_contradict_each_other_are_brought_into_range(p, c, w, o):
    use = TokenUse.of(p, c, w, o)
    assert use.prompt == p
    assert use.cached + use.written <= p
    assert use == TokenUse.of(use.prompt, use.cached, use.written, use.completion)


@pytest.mark.parametrize("wrong", [{"prompt": -1}, {"prompt": 5, "cached": 6}])
def test_impossible_counts_are_refused(wrong: dict[str, int]):
    with pytest.raises(SettingsError):
        TokenUse(**wrong)


@pytest.mark.parametrize(
    "wrong",
    [
        {"input": -1, "output": 1},
        {"input": float("nan"), "output": 1},
        {"input": 1, "output": float("inf")},
        {"input": "1", "output": 1},
        {"input": True, "output": 1},
        {"input": 1, "output": 1, "long_input": 0.5},
    ],
)
def test_impossible_prices_are_refused(wrong: dict[str, object]):
    with pytest.raises(SettingsError):
        ModelPrice(**wrong)


def test_what_money_buys():
    price = ModelPrice(input=2.5, output=10)
    assert affordable_tokens(CostBudget(0.01), price) == 4000
    assert affordable_tokens(CostBudget(0.01), None) == 0
    assert affordable_tokens(CostBudget(0.01), ModelPrice(input=0, output=0)) == 0
    assert affordable_tokens(TokenBudget(123), price) == 123
    assert affordable_tokens(TokenTargetBudget(100, 20), None) == 120
    assert affordable_tokens(CompositeBudget(TokenBudget(3000), CostBudget(0.01)), price) == 3000
    assert affordable_tokens(CompositeBudget(TokenBudget(0), CostBudget(0.01)), price) == 4000


@pytest.mark.parametrize(
    ("dollars", "tokens"), [(0.1, 80_000), (0.25, 200_000), (0.4, 200_000), (0.6, 240_000)]
)
def test_a_cap_holds_across_the_step_to_the_long_price(dollars: float, tokens: int):
    price = ModelPrice(input=1.25, output=10, long_from=200_000)
    assert affordable_tokens(CostBudget(dollars), price) == pytest.approx(tokens, abs=1)


def test_a_cap_holds_where_the_long_price_is_rounded_up():
    """62,500.625 picodollars are charged as 62,501: 0.0125 dollars buy 199,996.8 of these."""
    price = ModelPrice(input=0.0625, output=0.0, long_from=1000, long_input=1.00001)
    assert affordable_tokens(CostBudget(0.0125), price) == 199_996
    assert request_cost(price, TokenUse(prompt=199_996)) == 199_996 * 62_501


@given(prices, st.floats(1e-6, 10))
def test_what_is_affordable_costs_no_more_than_the_cap(price: ModelPrice, cap: float):
    tokens = affordable_tokens(CostBudget(cap), price)
    for use in (TokenUse(prompt=tokens), TokenUse(prompt=tokens, written=tokens)):
        if tokens > 1:
            assert request_cost(price, use) / PICODOLLARS <= cap * (1 + 1e-6) + 1e-9


@given(prices, st.floats(1e-6, 10), st.floats(0.1, 1))
def test_a_cheaper_price_never_buys_less(price: ModelPrice, cap: float, factor: float):
    whole = {name: getattr(price, name) for name in ModelPrice.__dataclass_fields__}
    write = None if price.write is None else price.write * factor
    cheaper = ModelPrice(**{**whole, "input": price.input * factor, "write": write})
    few = affordable_tokens(CostBudget(cap), price)
    many = affordable_tokens(CostBudget(cap), cheaper)
    assert many == 0 or few == 0 or many >= few


def test_which_budgets_need_a_price():
    assert depends_on_price(CostBudget(0.01))
    assert depends_on_price(CompositeBudget(TokenBudget(10), CostBudget(0.01)))
    assert not depends_on_price(TokenBudget(10))
    assert not depends_on_price(CostBudget(0.0))
    assert not depends_on_price(CostBudget(0.01, price_per_token=1e-6))
