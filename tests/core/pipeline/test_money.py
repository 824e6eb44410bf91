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
    Settings,
    TokenBudget,
    enter_requests,
)
from eunoe.pipeline.chat.transcript import PipelineMemory
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


@pytest.mark.parametrize("reserve", [0, 300, 5000])
def test_the_room_for_the_answer_is_not_bought_as_input(reserve: int):
    budget = CompositeBudget(TokenBudget(20_000), CostBudget(dollars("gpt-4o", 1000)))
    result = ContextOrchestrator(budget).process_sync(
        CONVERSATION, model_id="gpt-4o", output_reserve=reserve, policy="window"
    )
    assert result.report.budget == 1000 + reserve
    assert 500 < result.report.tokens_after <= 1000
    assert (
        result.report.tokens_after
        == ContextOrchestrator(budget)
        .process_sync(CONVERSATION, model_id="gpt-4o", policy="window")
        .report.tokens_after
    )


@pytest.mark.parametrize("flag", ["!full", "!target=90000", "!full,target=90000"])
def test_no_flag_buys_more_than_the_money_does(flag: str):
    chat = [*CHAT[:-1], {"role": "user", "content": f"{flag} And now?"}]
    orchestrator = ContextOrchestrator(
        CompositeBudget(TokenBudget(400), CostBudget(dollars("gpt-4o", 1000))), flag_cap=50_000
    )
    report = orchestrator.process_sync(
        Conversation.from_openai_messages(chat), model_id="gpt-4o"
    ).report
    assert report.budget == 1000  # more than the 400 tokens that count without a flag
    assert dollars("gpt-4o", report.tokens_after) <= dollars("gpt-4o", 1000)
    alone = ContextOrchestrator(TokenBudget(400), flag_cap=50_000)
    free = alone.process_sync(Conversation.from_openai_messages(chat), model_id="gpt-4o").report
    assert free.budget == 50_000


def test_what_is_refused_for_money_says_so():
    with pytest.raises(BudgetError, match=r"more may cost over \$0\.000010") as error:
        ContextOrchestrator(CostBudget(0.00001)).process_sync(CONVERSATION, model_id="gpt-4o")
    assert error.value.most_usd == 0.00001
    both = CompositeBudget(TokenBudget(4), CostBudget(1.0))
    with pytest.raises(BudgetError) as error:
        ContextOrchestrator(both).process_sync(CONVERSATION, model_id="gpt-4o")
    assert error.value.most_usd == 0
    assert "cost" not in str(error.value)


@pytest.mark.parametrize("on_overflow", ["truncate", "keep"])
def test_what_may_not_be_cut_goes_on_over_the_money_where_the_operator_says_so(on_overflow: str):
    orchestrator = ContextOrchestrator(CostBudget(0.00001), on_overflow=on_overflow)
    report = orchestrator.process_sync(CONVERSATION, model_id="gpt-4o").report
    assert report.infeasible is not None
    assert report.cost is not None
    assert report.cost.sent.usd > report.cost.most_usd == 0.00001
    assert "of $0.000010 allowed" in report.explain()


@settings(max_examples=40, deadline=None)
@given(
    turns=st.integers(0, 60),
    cents=st.floats(0.01, 1),
    tokens=st.integers(60, 9000),
    policy=st.sampled_from(["stable", "relevance", "window", "off"]),
    model_id=st.sampled_from(["gpt-4o", "claude-sonnet-4-5", "my-own-model", None]),
    reserve=st.integers(0, 500),
)
def test_the_report_tells_what_the_ledger_will(turns, cents, tokens, policy, model_id, reserve):
    chat = Conversation.from_openai_messages([*CHAT[: 1 + 2 * turns], CHAT[-1]])
    budget = CompositeBudget(TokenBudget(tokens), CostBudget(cents / 100))
    result = ContextOrchestrator(budget, on_overflow="keep").process_sync(
        chat, model_id=model_id, policy=policy, output_reserve=reserve
    )
    report, cost = result.report, result.report.cost
    total = enter_requests([result.forecast], model_id=model_id).estimated
    assert cost is not None
    assert not cost.measured
    for way, tally in (
        (cost.sent, total.sent),
        (cost.untouched, total.untouched),
        (cost.window, total.window),
    ):
        assert (way.prompt, way.cached) == (tally.prompt, tally.cached)
        assert way.usd == (None if tally.unpriced else tally.cost_usd)
    assert cost.sent.prompt == report.tokens_after
    assert cost.untouched.prompt == report.tokens_before
    known = list_prices().get(model_id) is not None
    assert (cost.sent.usd is not None) is known
    assert cost.most_usd == (cents / 100 if known else 0.0)
    if known and report.infeasible is None and policy != "off":
        assert cost.sent.usd <= cost.most_usd * (1 + 1e-9)
    [line] = [x for x in report.explain().split("\n") if x.startswith("cost: ")]
    assert ("$" in line) is known


def test_a_model_that_counts_more_than_we_do_costs_more():
    orchestrator = ContextOrchestrator(TokenBudget(4000))
    plain = orchestrator.process_sync(CONVERSATION, model_id="gpt-4o", policy="window")
    asked = plain.reported({"prompt_tokens": round(plain.token_count * 1.3)})
    chat = [*CHAT, {"role": "assistant", "content": "Fine."}, {"role": "user", "content": "And?"}]
    report = orchestrator.process_sync(
        Conversation.from_openai_messages(chat), model_id="gpt-4o", usage=asked, policy="window"
    ).report
    assert report.calibrated > 1.2
    assert report.cost.sent.prompt == pytest.approx(report.tokens_after * report.calibrated, abs=1)


class Watched:
    """Prices that note who is asked for."""

    def __init__(self) -> None:
        self.asked: list[str | None] = []

    def get(self, model_id: str | None) -> ModelPrice | None:
        self.asked.append(model_id)
        return list_prices().get(model_id)


def test_prices_are_asked_for_where_money_plays_a_part_or_somebody_looks():
    prices = Watched()
    result = ContextOrchestrator(TokenBudget(900), prices=prices).process_sync(
        CONVERSATION, model_id="gpt-4o"
    )
    assert prices.asked == []
    assert result.report.cost is result.report.cost
    assert prices.asked == ["gpt-4o"]
    ContextOrchestrator(CostBudget(0.01), prices=prices).process_sync(
        CONVERSATION, model_id="gpt-4.1"
    )
    assert prices.asked == ["gpt-4o", "gpt-4.1"]


@pytest.mark.parametrize("policy", ["stable", "window", "off"])
@pytest.mark.parametrize("budget", [900, 100_000])
def test_a_report_that_is_read_late_says_what_it_would_have_said_at_once(policy: str, budget: int):
    """The chat has grown by then, from another question in place of the last one."""
    by = ContextOrchestrator(
        TokenBudget(budget), settings=Settings(policy=policy), memory=PipelineMemory()
    )

    def ask(size: int, question: str, engine: ContextOrchestrator):
        chat = [*CHAT[:size], {"role": "user", "content": question}]
        return engine.process_sync(Conversation.from_openai_messages(chat), model_id="gpt-4o")

    asked = [(41, "And now?")]
    asked += [(n, f"A longer question than the one before, number {n}.") for n in (43, 45, 61)]
    late = [ask(size, question, by) for size, question in asked]
    for (size, question), result in zip(asked, late, strict=True):
        cold = ContextOrchestrator(
            TokenBudget(budget), settings=Settings(policy=policy), memory=PipelineMemory()
        )
        at_once = ask(size, question, cold)
        assert result.report.cost == at_once.report.cost
        assert result.forecast == at_once.forecast
