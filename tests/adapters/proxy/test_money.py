"""Prices and a cap on money through the proxy, as its callers and its operator see them."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from eunoe import SettingsError
from eunoe.stages.accounting.list_prices import list_prices
from eunoe_backends import InMemoryLedgerStore
from eunoe_proxy import ProxySettings
from events import Notebook
from proxied import talk

CHAT = talk(40)
OWN = {
    "models": {"mine": {"input": 10, "cached": 1, "output": 40}},
    "aliases": {"chef": "mine", "boss": "gpt-4o"},
}


@pytest.fixture
def own_prices(tmp_path: Path) -> str:
    file = tmp_path / "own.json"
    file.write_text(json.dumps(OWN), encoding="utf-8")
    return str(file)


def money_of(answer: Any) -> dict[str, float]:
    """The headers on money, in dollars."""
    head = "x-eunoe-cost-"
    found = {k: v for k, v in answer.headers.items() if k.startswith(head)}
    return {name.removeprefix(head): float(value) for name, value in found.items()}


@pytest.mark.parametrize(
    ("model", "bought"),
    [("gpt-4o", 2000), ("boss", 2000), ("chef", 500), ("mine", 500), ("openrouter/mine", 500)],
)
def test_no_request_costs_more_than_the_cap(
    proxy: Any, own_prices: str, model: str, bought: int
) -> None:
    answer = proxy(max_cost_usd=0.005, price_file=own_prices).ask(CHAT, model=model)
    money, sent = money_of(answer), int(answer.headers["x-eunoe-tokens-after"])
    assert int(answer.headers["x-eunoe-tokens-allowed"]) == bought
    assert sent <= bought
    assert money["allowed"] == 0.005
    assert 0 < money["estimated"] <= 0.005
    assert money["untouched"] > money["window"] > 0


def test_without_a_cap_the_estimates_are_told_and_nothing_is_cut(proxy: Any) -> None:
    answer = proxy().ask(CHAT)
    money = money_of(answer)
    assert answer.headers["x-eunoe-outcome"] == "same"
    assert set(money) == {"estimated", "untouched", "window"}
    assert money["estimated"] == money["untouched"] == money["window"] > 0


@pytest.mark.parametrize("model", ["nobody", "ollama/gpt-4o", ""])
def test_of_a_model_without_a_price_there_are_tokens_alone(proxy: Any, model: str) -> None:
    answer = proxy(max_cost_usd=0.0001).ask(CHAT, model=model)
    assert money_of(answer) == {}
    assert answer.headers["x-eunoe-outcome"] == "same"
    assert answer.headers["x-eunoe-warnings"] == "1"
    assert proxy().ask(CHAT, model=model).headers["x-eunoe-warnings"] == "0"


def test_the_tighter_cap_counts(proxy: Any) -> None:
    running = proxy(max_cost_usd=0.005, max_tokens=900)
    assert running.ask(CHAT).headers["x-eunoe-tokens-allowed"] == "900"
    wide = proxy(max_cost_usd=0.005, max_tokens=9000)
    assert wide.ask(CHAT).headers["x-eunoe-tokens-allowed"] == "2000"
    wish = {"X-Eunoe-Max-Tokens": "700"}
    assert wide.ask(CHAT, wish).headers["x-eunoe-tokens-allowed"] == "700"
    # the room for the answer is no input
    assert wide.ask(CHAT, max_tokens=3000).headers["x-eunoe-tokens-allowed"] == "2000"


def test_a_question_that_costs_too_much_is_refused_in_so_many_words(proxy: Any) -> None:
    running = proxy(max_cost_usd=0.00001, on_overflow="refuse")
    answer = running.ask(CHAT)
    assert answer.status_code == 400
    error = answer.json()["error"]
    assert error["code"] == "context_length_exceeded"
    assert "4 allowed: more may cost over $0.000010" in error["message"]
    by_tokens = proxy(max_tokens=5, on_overflow="refuse").ask(CHAT).json()["error"]
    assert "cost" not in by_tokens["message"]


def test_headers_report_ledger_and_metrics_agree(upstream: Any, proxy: Any) -> None:
    usage = {"prompt_tokens": 900, "completion_tokens": 10}
    keeper, notebook = InMemoryLedgerStore(), Notebook()
    upstream.answer = json.dumps({"choices": [{"message": {"content": "ok"}}]})
    running = proxy(max_tokens=1500, keeper=keeper, observer=notebook)
    estimated = money_of(running.ask(CHAT, {"X-Eunoe-Session": "s"}))
    running.wait_for('eunoe_requests_total{outcome="answered"}', 1)
    entry = keeper.of("s")
    assert entry.estimated.sent.cost_usd == pytest.approx(estimated["estimated"], abs=1e-8)
    assert entry.estimated.window.cost_usd == pytest.approx(estimated["window"], abs=1e-8)
    upstream.answer = json.dumps({"choices": [{"message": {"content": "ok"}}], "usage": usage})
    running.ask(CHAT, {"X-Eunoe-Session": "t"})
    running.wait_for('eunoe_requests_total{outcome="answered"}', 2)
    measured = keeper.of("t")
    price = list_prices().get("gpt-4o")
    assert price is not None
    paid = (900 * price.input + 10 * price.output) / 1e6
    assert measured.measured.sent.cost_usd == pytest.approx(paid)
    name = 'eunoe_cost_dollars_total{{model="gpt-4o",way="{}",kind="{}"}}'
    assert running.metric(name.format("sent", "measured")) == pytest.approx(paid)
    assert running.metric(name.format("sent", "estimated")) == entry.estimated.sent.cost_usd
    both = entry.total.untouched.cost_usd + measured.total.untouched.cost_usd
    assert running.metric(name.format("untouched", "estimated")) == pytest.approx(both)
    told = {e.session_id: e.report.cost for e in notebook.events if "answer" in e.milliseconds}
    assert told["s"].sent.usd == entry.estimated.sent.cost_usd
    assert not told["s"].measured
    assert told["t"].measured
    assert told["t"].sent.usd == measured.measured.sent.cost_usd


def test_the_log_tells_what_an_answer_cost(
    upstream: Any, proxy: Any, caplog: pytest.LogCaptureFixture
) -> None:
    usage = {"prompt_tokens": 4000, "completion_tokens": 0}
    upstream.answer = json.dumps({"choices": [{"message": {"content": "ok"}}], "usage": usage})
    running = proxy()
    with caplog.at_level(logging.INFO, "eunoe"):
        for number, model in enumerate(("gpt-4o", "nobody"), 1):
            running.ask(CHAT, model=model)
            running.wait_for('eunoe_requests_total{outcome="answered"}', number)
    lines = {m.split(":")[0]: m for m in caplog.messages if "; status 200" in m}
    assert ", $0.010; status" in lines["gpt-4o"]
    assert "$" not in lines["nobody"]


@pytest.mark.parametrize("wrong", [-0.1, float("inf"), float("nan"), "1", None, True])
def test_what_is_no_sum_is_refused(wrong: Any) -> None:
    with pytest.raises(SettingsError, match="max_cost_usd"):
        ProxySettings(upstream="http://127.0.0.1:9/v1", max_cost_usd=wrong)
