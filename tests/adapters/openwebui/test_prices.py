"""What models cost, as the valves say."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from eunoe.domain.errors import BackendError
from eunoe_backends.current_prices import PRICE_LOOK_SECONDS
from eunoe_backends.price_sources import OpenRouterPrices
from eunoe_openwebui.prices import PriceShelf
from eunoe_openwebui.valves import FilterValves

WORDS = "river stone light paper "
OWN = json.dumps({"paper*": {"input": 2.0, "output": 4.0, "cached": 0.2}})
PUBLISHED = {"data": [{"id": "maker/gpt-4o", "pricing": {"prompt": "7e-6", "completion": "8e-6"}}]}


class Published(OpenRouterPrices):
    """Live prices without the network."""

    def __init__(self, answer: Any = PUBLISHED) -> None:
        super().__init__()
        self.answer, self.fetched, self.gate = answer, 0, threading.Event()

    def _fetch(self) -> Any:
        self.gate.wait(5)
        self.fetched += 1
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def settle(shelf: PriceShelf) -> None:
    for thread in threading.enumerate():
        if thread.name == "eunoe-prices":
            thread.join(5)


def test_own_prices_show_money_for_a_model_that_no_list_knows(plugin: Any) -> None:
    messages = [{"role": "user", "content": f"{n} " + WORDS * 50} for n in range(90)]
    body = {"model": "paper-9", "messages": messages}
    for own, money in (("{}", False), (OWN, True), ("no json", False), ('{"x": 1}', False)):
        valves = {"max_tokens": 2000, "own_prices": own}
        plugin.call("request", {**body}, valves=valves, __metadata__={"chat_id": own})
        assert ("$" in plugin.status) is money


def test_own_prices_win_over_the_list() -> None:
    shelf = PriceShelf(Published())
    own = FilterValves(own_prices='{"gpt-4o": {"input": 9.0, "output": 9.0}}')
    listed, mine = shelf.prices(FilterValves()).get("gpt-4o"), shelf.prices(own).get("gpt-4o")
    assert listed is not None
    assert mine is not None
    assert mine.input == 9.0 != listed.input
    assert shelf.prices(own).get("gpt-4o-mini") == shelf.prices(FilterValves()).get("gpt-4o-mini")


def test_live_prices_are_fetched_behind_and_only_if_asked_for() -> None:
    live, now = Published(), [0.0]
    shelf = PriceShelf(live, clock=lambda: now[0])
    asked = FilterValves(live_prices=True)
    listed = shelf.prices(FilterValves()).get("gpt-4o")
    assert shelf.prices(asked).get("gpt-4o") == listed  # nobody waits
    live.gate.set()
    settle(shelf)
    found = shelf.prices(asked).get("gpt-4o")
    assert found is not None
    assert found.input == 7.0
    assert shelf.prices(FilterValves()).get("gpt-4o") == listed
    for _ in range(9):
        shelf.prices(asked)
        now[0] += PRICE_LOOK_SECONDS
        settle(shelf)
    assert live.fetched == 1  # a day has not gone by


@pytest.mark.parametrize("answer", [BackendError("away"), {"data": []}, RuntimeError("x")])
def test_without_live_prices_the_list_serves(answer: Any, tmp_path: Path) -> None:
    live = Published(answer)
    live.gate.set()
    shelf = PriceShelf(live)
    asked = FilterValves(live_prices=True)
    listed = shelf.prices(FilterValves()).get("gpt-4o")
    for _ in range(3):
        assert shelf.prices(asked).get("gpt-4o") == listed
        settle(shelf)
