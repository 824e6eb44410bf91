"""A budget in money holds: through the whole pipeline, for each price that is known."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eunoe import (
    BudgetError,
    CompositeBudget,
    ContextOrchestrator,
    Conversation,
    CostBudget,
    TokenBudget,
)
from eunoe.stages.accounting.list_prices import list_prices
from eunoe.stages.accounting.price import PICODOLLARS, ModelPrice, TokenUse, request_cost
from eunoe.stages.accounting.price_table import ModelPricingTable

CHAT = [{"role": "system", "content": "Answer shortly."}]
for turn in range(60):
    CHAT.append({"role": "user", "content": f"Question {turn}: what about item {turn * 7}? " * 3})
    CHAT.append({"role": "assistant", "content": f"Item {turn * 7} is fine, so is the rest. " * 4})
CHAT.append({"role": "user", "content": "And now?"})
CONVERSATION = Conversation.from_openai_messages(CHAT)


def dollars(model_id: str, tokens: int) -> float:
    price = list_prices().get(model_id)
    return request_cost(price, TokenUse(prompt=tokens)) / PICODOLLARS


@pytest.mark.parametrize("policy", ["stable", "relevance", "window"])
@pytest.mark.parametrize("model_id", ["gpt-4o", "openrouter/anthropic/claude-sonnet-4.5"])
def test_the_cap_on_money_holds(policy: str, model_id: str):
    cap = dollars(model_id, 1000)
    orchestrator = ContextOrchestrator(budget=CostBudget(cap))
    result = orchestrator.process_sync(CONVERSATION, model_id=model_id, policy=policy)
    assert 0 < len(result.conversation.to_openai_messages()) < len(CHAT)
    assert dollars(model_id, result.report.tokens_after) <= cap


def test_a_dearer_model_sees_less():
    orchestrator = ContextOrchestrator(budget=CostBudget(0.001))
    sent = [
        orchestrator.process_sync(CONVERSATION, model_id=m, policy="window").report.tokens_after
        for m in ("gpt-5.5", "gpt-4o", "gpt-4.1-nano")
    ]
    assert sent == sorted(sent)
    assert sent[0] < sent[1] < sent[2]


def test_writing_to_the_cache_is_in_the_cap():
    price = ModelPrice(input=3.0, cached=0.3, write=3.75, output=15.0)
    orchestrator = ContextOrchestrator(
        budget=CostBudget(0.00375), prices=ModelPricingTable({"m": price})
    )
    report = orchestrator.process_sync(CONVERSATION, model_id="m").report
    assert report.budget in (999, 1000)  # of a division
    written = TokenUse(prompt=report.tokens_after, written=report.tokens_after)
    assert request_cost(price, written) <= 0.00375 * PICODOLLARS


def test_the_tighter_budget_counts():
    both = CompositeBudget(TokenBudget(700), CostBudget(1.0))
    report = ContextOrchestrator(budget=both).process_sync(CONVERSATION, model_id="gpt-4o").report
    assert report.budget == 700
    both = CompositeBudget(TokenBudget(100_000), CostBudget(0.002))
    report = ContextOrchestrator(budget=both).process_sync(CONVERSATION, model_id="gpt-4o").report
    assert report.budget == 800
    assert report.tokens_after <= 800


@pytest.mark.parametrize("model_id", [None, "my-own-model", "ollama/llama3.2:3b"])
def test_an_unknown_price_sets_no_limit_and_is_said(model_id: str | None):
    orchestrator = ContextOrchestrator(budget=CostBudget(0.0001))
    result = orchestrator.process_sync(CONVERSATION, model_id=model_id)
    assert result.conversation.to_openai_messages() == CHAT
    assert "price" in " ".join(result.report.warnings)


def test_no_word_of_prices_without_a_cap_on_money():
    for budget in (TokenBudget(500), CostBudget(0.01, price_per_token=1e-6), CostBudget(0.0)):
        orchestrator = ContextOrchestrator(budget=budget)
        assert orchestrator.process_sync(CONVERSATION, model_id="unknown").report.warnings == ()


def test_what_may_not_be_cut_is_refused_not_overspent():
    orchestrator = ContextOrchestrator(budget=CostBudget(0.00001))
    with pytest.raises(BudgetError) as error:
        orchestrator.process_sync(CONVERSATION, model_id="gpt-4o")
    assert error.value.allowed == 4


@settings(max_examples=25, deadline=None)
@given(cents=st.floats(0.02, 0.4), dollars_per_million=st.floats(0.5, 20))
def test_any_price_any_cap(cents: float, dollars_per_million: float):
    table = ModelPricingTable({"m": ModelPrice(input=dollars_per_million, output=1.0)})
    orchestrator = ContextOrchestrator(budget=CostBudget(cents / 100), prices=table)
    try:
        tokens = orchestrator.process_sync(CONVERSATION, model_id="m").report.tokens_after
    except BudgetError as error:
        tokens = error.allowed
    assert tokens * dollars_per_million / 1e6 <= cents / 100 * (1 + 1e-9)
