from __future__ import annotations

import pytest

from eunoe.domain.budget import (
    CompositeBudget,
    CostBudget,
    TokenBudget,
    TokenTargetBudget,
    money_part,
    most_dollars,
    token_part,
)
from eunoe.domain.errors import SettingsError


@pytest.mark.parametrize(
    ("budget", "price", "allowed"),
    [
        pytest.param(TokenBudget(), None, 0, id="no limit"),
        pytest.param(TokenBudget(8000), 1.0, 8000, id="tokens, whatever they cost"),
        pytest.param(TokenTargetBudget(6000), None, 6150, id="target and overshoot"),
        pytest.param(TokenTargetBudget(6000, overshoot=0), None, 6000, id="no overshoot"),
        pytest.param(TokenTargetBudget(0), None, 0, id="no target is no limit"),
        pytest.param(CostBudget(), 2.5e-6, 0, id="no money limit"),
        pytest.param(CostBudget(0.01), 2.5e-6, 4000, id="a cent at 2.50 a million"),
        pytest.param(CostBudget(0.01), None, 0, id="no price known"),
        pytest.param(CostBudget(0.01, price_per_token=1e-6), 2.5e-6, 10_000, id="own price first"),
        pytest.param(CostBudget(1e-9), 1.0, 1, id="less than a token buys one"),
        pytest.param(CompositeBudget.unlimited(), 1.0, 0, id="unlimited"),
        pytest.param(
            CompositeBudget(TokenBudget(5000), CostBudget(0.01)),
            2.5e-6,
            4000,
            id="money is tighter",
        ),
        pytest.param(
            CompositeBudget(TokenBudget(3000), CostBudget(0.01)),
            2.5e-6,
            3000,
            id="tokens are tighter",
        ),
        pytest.param(
            CompositeBudget(TokenBudget(0), CostBudget(0.01)), 2.5e-6, 4000, id="money alone"
        ),
        pytest.param(CompositeBudget(TokenTargetBudget(100)), None, 250, id="a target inside"),
    ],
)
def test_allowed_tokens(budget, price, allowed):
    assert budget.allowed_tokens(price) == allowed


@pytest.mark.parametrize(
    ("window", "more", "tokens"),
    [(49_152, {}, 26_883), (8192, {"ratio": 1, "framing": 0}, 8192), (100, {}, 1)],
)
def test_a_share_of_a_window(window, more, tokens):
    assert TokenBudget.of_window(window, **more) == TokenBudget(tokens)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (
            lambda: TokenBudget(-1),
            "max_tokens is -1; allowed: a whole number of tokens, 0 (no limit) or above",
        ),
        (lambda: TokenBudget(True), "max_tokens is True; allowed: a whole number"),
        (lambda: TokenBudget(1.5), "max_tokens is 1.5; allowed: a whole number"),
        (lambda: TokenBudget("8000"), "max_tokens is '8000'; allowed: a whole number"),
        (lambda: TokenTargetBudget(-5), "target_tokens is -5; allowed: a whole number"),
        (lambda: TokenTargetBudget(5, overshoot=-1), "overshoot is -1; allowed: a whole number"),
        (lambda: CostBudget(-0.1), "max_cost_usd is -0.1; allowed: dollars, 0 or above, finite"),
        (lambda: CostBudget(float("nan")), "max_cost_usd is nan; allowed: dollars"),
        (lambda: CostBudget(1, float("inf")), "price_per_token is inf; allowed: dollars"),
        (
            lambda: TokenBudget.of_window(100, ratio=0),
            "ratio is 0; allowed: above 0, at most 1",
        ),
        (lambda: TokenBudget.of_window(100, ratio=1.1), "ratio is 1.1; allowed: above 0"),
    ],
)
def test_wrong_budgets_say_what_is_allowed(make, said):
    with pytest.raises(SettingsError) as caught:
        make()
    assert said in str(caught.value)


TOKENS, TARGET, MONEY = TokenBudget(500), TokenTargetBudget(300), CostBudget(0.01)


@pytest.mark.parametrize(
    ("budget", "tokens", "money", "dollars"),
    [
        (TOKENS, TOKENS, TOKENS, 0.0),
        (MONEY, TokenBudget(0), MONEY, 0.01),
        (CompositeBudget(TARGET, MONEY), TARGET, MONEY, 0.01),
        (CompositeBudget(TOKENS), TOKENS, CompositeBudget(TOKENS), 0.0),
        (CostBudget(0), TokenBudget(0), CostBudget(0), 0.0),
    ],
)
def test_the_two_parts_of_a_budget(budget, tokens, money, dollars):
    assert (token_part(budget), money_part(budget)) == (tokens, money)
    assert most_dollars(budget) == dollars
