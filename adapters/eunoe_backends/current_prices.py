"""Prices for a process that serves for long: live ones are renewed behind the requests.

prices = CurrentPrices(own_file="own_prices.json", live=OpenRouterPrices("prices.json"))
ContextOrchestrator(budget=CostBudget(0.01), prices=prices)
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

from eunoe.domain.log import logger
from eunoe.stages.accounting.list_prices import list_prices
from eunoe.stages.accounting.price import ModelPrice
from eunoe.stages.accounting.price_table import ModelPricingTable
from eunoe_backends.price_sources import OpenRouterPrices, find_prices, read_price_file

PRICE_LOOK_SECONDS = 600.0
"""How often it is looked whether live prices are too old; they are after a day."""


class CurrentPrices:
    """Own prices over live ones over list prices. Safe across threads; never waits for a network.

    Live prices are fetched in the background, when a price is first asked for and as they grow old;
    until they are there, and where they cannot be had, those of the list count.

    Args:
        own_file: JSON; see ``read_price_file``. It is read once.
        live: where live prices come from; None for none.
        clock: seconds, rising.

    Raises:
        SettingsError: the own file cannot be read.
    """

    def __init__(
        self,
        own_file: str | Path | None = None,
        live: OpenRouterPrices | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        own = read_price_file(own_file) if own_file else ModelPricingTable.empty()
        self._own, self._live, self._clock = own, live, clock
        self._table = list_prices().merged(own)
        self._next_look = -float("inf")
        self._lock = threading.Lock()

    def get(self, model_id: str | None) -> ModelPrice | None:
        """The price of a model, or None if it is not known."""
        return self.table().get(model_id)

    def table(self) -> ModelPricingTable:
        """All prices as they are known now."""
        with self._lock:
            if self._live is not None and self._clock() >= self._next_look:
                self._next_look = self._clock() + PRICE_LOOK_SECONDS
                threading.Thread(target=self._fetch, name="eunoe-prices", daemon=True).start()
            return self._table

    def _fetch(self) -> None:
        """Look whether the live prices are too old, and fetch them if so."""
        try:
            found = find_prices(live=self._live).merged(self._own)
        except Exception as error:  # the prices that are known serve
            logger.warning("eunoe has no live prices: %s", type(error).__name__)
            return
        with self._lock:
            self._table = found
