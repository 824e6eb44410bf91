"""Prices of a process that serves for long: never waited for, renewed behind."""

from __future__ import annotations

import json
import threading
import time

import pytest

from eunoe import SettingsError
from eunoe.stages.accounting import ModelPrice, ModelPricingTable, list_prices
from eunoe_backends import CurrentPrices, OpenRouterPrices
from eunoe_backends.current_prices import PRICE_LOOK_SECONDS

LIVE = ModelPricingTable({"new-9": ModelPrice(input=1, output=2)})


class Published(OpenRouterPrices):
    """A list without a network."""

    def __init__(self):
        super().__init__()
        self.asked, self.fault = 0, False

    def table(self):
        self.asked += 1
        if self.fault:
            raise RuntimeError("odd")
        return LIVE


def settle():
    end = time.monotonic() + 10
    while any(thread.name == "eunoe-prices" for thread in threading.enumerate()):
        assert time.monotonic() < end
        time.sleep(0.005)


def test_list_prices_count_until_live_ones_are_there():
    live, now = Published(), [0.0]
    prices = CurrentPrices(live=live, clock=lambda: now[0])
    assert live.asked == 0  # nothing before somebody asks
    assert prices.get("gpt-4o") == list_prices().get("gpt-4o")
    settle()
    assert prices.get("new-9") == LIVE.get("new-9")
    assert live.asked == 1
    now[0] = PRICE_LOOK_SECONDS
    live.fault = True
    assert prices.get("new-9") is not None
    settle()
    assert live.asked == 2
    assert prices.get("new-9") is not None  # a fault takes nothing away


def test_own_prices_count_over_all_others(tmp_path):
    own = tmp_path / "own.json"
    own.write_text(json.dumps({"models": {"new-9": {"input": 7, "output": 8}}}))
    prices = CurrentPrices(own, Published())
    prices.get(None)
    settle()
    assert prices.get("new-9") == ModelPrice(input=7, output=8)
    assert prices.get("gpt-4o") is not None
    assert CurrentPrices().get("new-9") is None


def test_an_own_file_that_cannot_be_read_is_refused(tmp_path):
    with pytest.raises(SettingsError):
        CurrentPrices(tmp_path / "none.json")
