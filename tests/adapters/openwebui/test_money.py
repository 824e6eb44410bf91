"""A cap on money as a valve, and what the filter says of money."""

from __future__ import annotations

import json
from typing import Any

import pytest

from eunoe_openwebui.valves import FilterValves

WORDS = "river stone light paper "
OWN = {"models": {"mine": {"input": 10, "output": 40}}, "aliases": {"chef": "mine"}}
CHAT = [{"role": "user", "content": f"{n} " + WORDS * 50} for n in range(90)]


def ask(plugin: Any, *, model: str = "gpt-4o", question: str = "", **more: Any) -> str:
    valves = {"max_tokens": 8000, "own_prices": json.dumps(OWN), **more.pop("valves", {})}
    messages = [*CHAT, {"role": "user", "content": question}] if question else list(CHAT)
    body = {"model": model, "messages": messages}
    plugin.events.clear()
    plugin.call("request", body, valves=valves, __metadata__={"chat_id": model}, **more)
    return plugin.status


def account(plugin: Any) -> list[str]:
    """The lines of `!why`."""
    [event] = [e for e in plugin.events if e["type"] == "citation"]
    return str(event["data"]["document"][0]).split("\n")


@pytest.mark.parametrize(("model", "allowed"), [("gpt-4o", "2k"), ("mine", "500"), ("chef", "500")])
def test_no_request_may_take_more_than_the_money_buys(
    plugin: Any, model: str, allowed: str
) -> None:
    assert f" of {allowed} · " in ask(plugin, model=model, valves={"max_cost_usd": 0.005})
    assert " of 8k · " in ask(plugin, model=model)


def test_the_tighter_of_the_two_caps_counts(plugin: Any) -> None:
    assert " of 1k · " in ask(plugin, valves={"max_cost_usd": 0.005, "max_tokens": 1000})
    for_one = json.dumps({"gpt*": {"Max cost of a request ($)": 0.0025}})
    assert " of 1k · " in ask(plugin, valves={"model_overrides": for_one})


@pytest.mark.parametrize(
    ("model", "more", "warned"),
    [
        ("nobody", {}, True),
        ("gpt-4o", {"__model__": {"id": "gpt-4o", "owned_by": "ollama"}}, False),
    ],
)
def test_without_a_price_tokens_alone_count(
    plugin: Any, model: str, more: Any, warned: bool
) -> None:
    status = ask(plugin, model=model, valves={"max_cost_usd": 0.0001}, **more)
    assert " of 8k · " in status or " of 3.5k · " in status  # what Ollama loads
    assert ("money sets no limit" in status) is warned
    assert "$" not in status


def test_a_question_that_costs_too_much_is_refused_in_so_many_words(plugin: Any) -> None:
    valves = {"max_cost_usd": 0.00005, "on_overflow": "refuse"}
    with pytest.raises(
        Exception, match=r"20 are allowed; more may cost over \$0\.000050\. Shorten"
    ):
        ask(plugin, valves=valves)
    with pytest.raises(Exception, match=r"allowed\. Shorten"):
        ask(plugin, valves={"max_tokens": 20, "on_overflow": "refuse"})
    assert ask(plugin, valves={**valves, "on_overflow": "truncate"})


def test_why_tells_what_this_request_costs_and_what_the_chat_did(plugin: Any) -> None:
    ask(plugin, question="!why And now?", valves={"max_cost_usd": 0.005})
    lines = account(plugin)
    [this] = [line for line in lines if line.startswith("cost: ")]
    [chat] = [line for line in lines if line.startswith("it cost ")]
    assert " of $0.0050 allowed for ≈" in this
    whole, window = (this.split(f"{way} ≈")[1].split()[0].strip(",;") for way in WAYS)
    assert chat.endswith(f"untouched ≈{whole}, plain window ≈{window}")  # its only request


WAYS = ("untouched", "plain window")


def test_why_makes_up_no_price(plugin: Any) -> None:
    local = {"__model__": {"id": "gpt-4o", "owned_by": "ollama"}}
    ask(plugin, question="!why And now?", **local)
    text = "\n".join(account(plugin))
    assert "cost: no price known: ≈" in text
    assert "$" not in text


@pytest.mark.parametrize(
    ("given", "kept"),
    [(0.02, 0.02), ("0,02", 0.02), ("$", 0.0), (-1, 0.0), (None, 0.0), ("much", 0.0)],
)
def test_the_valve_takes_anything(given: Any, kept: float) -> None:
    assert FilterValves(max_cost_usd=given).max_cost_usd == kept
