"""Prices and a cap on money: in a chain, as a hook, as middleware, by any counter."""

from __future__ import annotations

import asyncio
import inspect
import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.language_models.fake_chat_models import FakeMessagesListChatModel
from langchain_core.load import dumps, loads
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from pydantic import Field

from eunoe import Ledger, ModelPrice, ModelPricingTable, RequestEvent
from eunoe.stages.accounting.list_prices import list_prices
from eunoe_backends import CurrentPrices
from eunoe_langchain import BudgetError, HistoryOptimizer
from eunoe_langchain.money import as_prices, priced_name
from langchain_lists import ai, human, long_history, problems, same_objects

HISTORY = long_history(turns=60, words=30)
PRICE = ModelPrice(input=10, cached=1, output=40)  # a cent buys 1,000 tokens
OWN = {
    "models": {"mine": {"input": 10, "cached": 1, "output": 40}},
    "aliases": {"chef": "mine", "boss": "gpt-4o"},
}
CENT = 0.01


class Model(FakeMessagesListChatModel):
    """A model of an integration: it says its name and provider, and notes what it was sent."""

    responses: list[Any] = Field(default_factory=lambda: [AIMessage("done")])
    model_name: str = "gpt-4o"
    provider: str = "openai"
    seen: list[Any] = Field(default_factory=list)

    def bind_tools(self, tools, **kwargs):
        return self.bind(tools=tools)

    def _get_ls_params(self, stop=None, **kwargs):
        return {"ls_provider": self.provider}

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        self.seen.append(list(messages))
        return ChatResult(generations=[ChatGeneration(message=AIMessage("done"))])


class Notebook:
    def __init__(self) -> None:
        self.events: list[RequestEvent] = []

    def observe(self, event: RequestEvent) -> None:
        self.events.append(event)


def priced(**fields: Any) -> HistoryOptimizer:
    return HistoryOptimizer(**{"max_tokens": 100_000, "prices": OWN, "model_id": "mine", **fields})


def forms_of_prices(folder: Path) -> list[Any]:
    file = folder / "own.json"
    file.write_text(json.dumps(OWN), encoding="utf-8")
    table = ModelPricingTable.from_dict(OWN)
    whole = list_prices().merged(table)
    return [OWN, str(file), file, whole, CurrentPrices(file)]


@pytest.mark.parametrize("form", range(5))
def test_prices_in_every_form_say_the_same(tmp_path: Path, form: int) -> None:
    given = forms_of_prices(tmp_path)[form]
    for name, price in (
        ("mine", PRICE),
        ("chef", PRICE),
        ("boss", list_prices().get("gpt-4o")),
        ("openrouter/anthropic/claude-sonnet-4.5", list_prices().get("claude-sonnet-4-5")),
        ("nobody", None),
    ):
        report = priced(prices=given, model_id=name, max_cost_usd=CENT).explain(HISTORY)
        assert report.cost is not None
        assert as_prices(given).get(name) == price
        assert (report.cost.sent.usd is None) is (price is None)
        bought = 100_000 if price is None else int(CENT / price.dearest_input() + 1e-6)
        assert report.budget == min(100_000, bought)
        warned = f"the price of {name} is not known: money sets no limit"
        assert (warned in report.warnings) is (price is None)


def test_a_table_of_its_own_takes_the_place_of_the_list() -> None:
    alone = ModelPricingTable({"mine": PRICE})
    assert as_prices(alone) is alone
    assert as_prices(None).get("gpt-4o") == as_prices(OWN).get("gpt-4o") is not None
    assert as_prices({"aliases": {"a": "gpt-4o"}}).get("a") == list_prices().get("gpt-4o")
    assert as_prices({"mine": {"input": 1, "output": 2}}).get("mine") is not None


@pytest.mark.parametrize(
    "wrong",
    [
        "no file.json",
        3,
        ["mine"],
        ModelPricingTable,
        {"mine": 3},
        {"models": {"mine": {"input": -1, "output": 1}}},
        {"models": {"mine": {"input": 1}}},
    ],
)
def test_what_holds_no_prices_is_refused_where_it_is_set(wrong: Any) -> None:
    with pytest.raises(ValueError, match="allowed"):
        HistoryOptimizer(max_tokens=100, prices=wrong)


@pytest.mark.parametrize("wrong", [-1, float("inf"), float("nan"), "much"])
def test_what_is_no_sum_is_refused(wrong: Any) -> None:
    with pytest.raises(ValueError, match="max_cost_usd"):
        HistoryOptimizer(max_tokens=100, max_cost_usd=wrong)


def by_characters(messages: Any) -> int:
    return sum(len(str(m.content)) for m in messages)


@settings(max_examples=60, deadline=None)
@given(
    turns=st.integers(0, 60),
    cents=st.floats(0.05, 8),
    reserve=st.integers(0, 300),
    counter=st.sampled_from(["approximate", "exact", by_characters]),
    policy=st.sampled_from(["stable", "relevance", "window"]),
    model_id=st.sampled_from(["mine", "chef", "gpt-4o", "claude-sonnet-4-5"]),
)
def test_a_view_never_costs_more_than_the_cap(
    turns: int, cents: float, reserve: int, counter: Any, policy: str, model_id: str
) -> None:
    optimizer = priced(
        max_cost_usd=cents / 100,
        reserve_tokens=reserve,
        token_counter=counter,
        policy=policy,
        model_id=model_id,
    )
    chat = [*HISTORY[: 1 + 2 * turns], HISTORY[-1]]
    try:
        view = optimizer.invoke(chat)
    except BudgetError:
        return  # what it says has tests of its own
    report = optimizer.explain(chat)
    cost = report.cost
    assert cost is not None
    assert cost.sent.prompt == report.tokens_after
    price = as_prices(OWN).get(model_id)
    assert price is not None
    assert report.tokens_after * price.dearest_input() <= cents / 100 * (1 + 1e-6)
    assert cost.sent.usd is not None
    assert cost.sent.usd <= cost.most_usd * (1 + 1e-6) == cents / 100 * (1 + 1e-6)
    if counter is by_characters:
        assert by_characters(view) * price.dearest_input() <= cents / 100 * (1 + 1e-6)
    assert problems(view) == []


def test_the_tighter_cap_counts() -> None:
    assert priced(max_cost_usd=CENT).explain(HISTORY).budget == 1000
    assert priced(max_cost_usd=CENT, max_tokens=700).explain(HISTORY).budget == 700
    assert priced().explain(HISTORY).budget == 100_000
    assert priced(max_cost_usd=CENT, reserve_tokens=200).explain(HISTORY).budget == 1200


def test_for_one_call_another_cap() -> None:
    optimizer = priced(max_cost_usd=CENT)
    assert optimizer.explain(HISTORY, max_cost_usd=CENT / 2).budget == 500
    shorter = optimizer.bind(max_cost_usd=CENT / 2).invoke(HISTORY)
    assert len(shorter) < len(optimizer.invoke(HISTORY))
    assert same_objects(optimizer.invoke(HISTORY, max_cost_usd=CENT / 2), shorter)
    assert len(optimizer.invoke(HISTORY, max_cost_usd=0)) == len(HISTORY)
    with pytest.raises(TypeError, match="unexpected argument 'max_cost'"):
        optimizer.invoke(HISTORY, max_cost=1)


def test_a_cap_that_cannot_be_met_is_refused_in_so_many_words() -> None:
    with pytest.raises(BudgetError, match=r"more may cost over \$0\.000020") as error:
        priced(max_cost_usd=0.00002).invoke(HISTORY)
    assert (error.value.allowed, error.value.most_usd) == (2, 0.00002)
    with pytest.raises(BudgetError) as plain:
        priced(max_cost_usd=CENT, max_tokens=2).invoke(HISTORY)
    assert plain.value.most_usd == 0
    with pytest.raises(BudgetError) as counted:
        priced(max_cost_usd=0.00002, token_counter=by_characters).invoke(HISTORY)
    assert counted.value.most_usd == 0.00002


def test_explain_tells_of_a_cap_that_cannot_be_met() -> None:
    report = priced(max_cost_usd=0.00002).explain(HISTORY)
    assert report.infeasible is not None
    assert report.cost is not None
    assert report.cost.sent.usd is not None
    assert report.cost.sent.usd > report.cost.most_usd == 0.00002


@pytest.mark.parametrize("overflow", ["truncate", "keep"])
def test_where_it_may_it_goes_on_with_what_may_not_be_cut(overflow: Any) -> None:
    chat = [*HISTORY[:-1], human("look " + "word " * 900)]
    optimizer = priced(max_cost_usd=0.002, on_overflow=overflow)
    view, report = optimizer.invoke(chat), optimizer.explain(chat)
    assert view
    assert (view[-1] is chat[-1]) is (overflow == "keep")
    assert (report.infeasible is not None) is (overflow == "keep")


def test_money_in_a_real_chain() -> None:
    model = Model()
    chain = priced(max_cost_usd=CENT) | model
    assert chain.invoke(HISTORY).content == "done"
    assert asyncio.run(chain.ainvoke(HISTORY)).content == "done"
    first, second = model.seen
    assert same_objects(first, second)
    assert len(first) < len(HISTORY)
    assert first[-1] is HISTORY[-1]


def test_the_line_on_money() -> None:
    [line] = [x for x in priced().explain(HISTORY).explain().split("\n") if x.startswith("cost: ")]
    assert line.startswith("cost: ≈$0.")
    assert "untouched ≈$0." in line
    unknown = HistoryOptimizer(max_tokens=500).explain(HISTORY)
    assert "no price known: ≈" in unknown.explain()
    assert "$" not in unknown.explain()


def test_an_observer_and_the_report_say_the_same() -> None:
    for fields in ({}, {"token_counter": by_characters}, {"model_id": "nobody"}):
        notebook = Notebook()
        optimizer = priced(max_cost_usd=CENT, observer=notebook, **fields)
        optimizer.invoke(HISTORY)
        (event,) = notebook.events
        cost, sent = event.report.cost, Ledger.from_flat(event.ledger).estimated.sent
        assert cost is not None
        assert cost == optimizer.explain(HISTORY).cost
        assert cost.sent.prompt == sent.prompt == event.forecast["sent"]
        assert cost.sent.usd == (None if "model_id" in fields else sent.cost_usd)
        assert event.model_id == optimizer.model_id
        pickle.dumps(event.report)


def test_the_price_is_that_of_the_provider_who_answers() -> None:
    def name(chat: Any = (), hint: Any = None, maker: Any = None, own: Any = None) -> str | None:
        return priced_name(chat, model_id=own, model_hint=hint, provider=maker)

    local = ai("a", response_metadata={"model_name": "gpt-4o", "model_provider": "ollama"})
    hosted = ai("a", response_metadata={"model_name": "gpt-4o", "model_provider": "openai"})
    plain = ai("a", response_metadata={"model_name": "gpt-4o"})
    assert name() is None
    assert name(hint="gpt-4o") == name([plain]) == "gpt-4o"
    assert name(hint="gpt-4o", maker="openai") == name([local, hosted]) == "openai/gpt-4o"
    assert name([hosted, local]) == name(hint="gpt-4o", maker="Ollama") == "ollama/gpt-4o"
    assert name([local], own="mine") == name(hint="x", maker="ollama", own="mine") == "mine"
    assert list_prices().get("openai/gpt-4o") is not None
    assert list_prices().get("ollama/gpt-4o") is None


@pytest.mark.parametrize(
    ("provider", "model_name", "capped"),
    [
        ("openai", "gpt-4o", True),
        ("ollama", "gpt-4o", False),
        ("openai", "nobody", False),
        ("anthropic", "claude-sonnet-4-5-20250929", True),
        ("openai", "chef", True),
        ("groq", "chef", False),
    ],
)
def test_an_agent_pays_what_its_own_model_costs(
    provider: str, model_name: str, capped: bool
) -> None:
    agents = pytest.importorskip("langchain.agents")

    @tool
    def look(q: str) -> str:
        """Look something up."""
        return "found"

    model, notebook = Model(provider=provider, model_name=model_name), Notebook()
    optimizer = priced(model_id=None, max_cost_usd=0.004, observer=notebook)
    agent = agents.create_agent(
        model, [look], system_prompt="Be kind.", middleware=[optimizer.as_middleware()]
    )
    out = agent.invoke({"messages": HISTORY[1:]})
    assert len(out["messages"]) == len(HISTORY)
    (event,) = notebook.events
    assert event.report.cost is not None
    assert (event.report.cost.sent.usd is not None) is capped
    assert (len(model.seen[-1]) < len(HISTORY)) is capped
    assert any("money sets no limit" in w for w in event.report.warnings) is not capped
    if capped:
        assert event.report.cost.sent.usd <= 0.004
        tight = priced(model_id=None, max_cost_usd=0.000005).as_middleware()
        with pytest.raises(BudgetError, match="more may cost over"):
            agents.create_agent(model, [look], middleware=[tight]).invoke({"messages": HISTORY})


def test_as_a_hook_the_model_sees_what_the_money_buys() -> None:
    hook = priced(max_cost_usd=CENT).as_pre_model_hook()
    view = hook.invoke({"messages": HISTORY})["llm_input_messages"]
    assert same_objects(view, priced(max_cost_usd=CENT).invoke(HISTORY))
    assert len(view) < len(HISTORY)


@pytest.mark.filterwarnings("ignore:The function `loads` is in beta")
def test_prices_as_plain_values_are_saved_with_it(tmp_path: Path) -> None:
    wanted: dict[str, Any] = {"valid_namespaces": ["eunoe_langchain"]}
    if "allowed_objects" in inspect.signature(loads).parameters:
        wanted["allowed_objects"] = [HistoryOptimizer]
    *plain, path, table, current = forms_of_prices(tmp_path)
    for prices in plain:
        optimizer = priced(prices=prices, max_cost_usd=CENT)
        back = loads(dumps(optimizer), **wanted)
        assert back == optimizer == pickle.loads(pickle.dumps(optimizer))
        assert back.explain(HISTORY).budget == optimizer.explain(HISTORY).budget == 1000
    for prices in (path, table, current):
        assert '"not_implemented"' in dumps(priced(prices=prices))
    assert HistoryOptimizer(max_tokens=9) != priced(max_tokens=9)


def test_prices_that_are_set_later_count():
    dearer = {"models": {"mine": {"input": 20, "output": 40}}}
    optimizer = priced(max_cost_usd=CENT)
    assert optimizer.explain(HISTORY).budget == 1000
    assert optimizer.model_copy(update={"prices": dearer}).explain(HISTORY).budget == 500
    assert optimizer.explain(HISTORY).budget == 1000
    optimizer.prices = dearer
    assert optimizer.explain(HISTORY).budget == 500
