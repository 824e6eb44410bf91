"""What models cost, as the valves say: list prices, live ones over them, own ones over all."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from eunoe.domain.errors import EunoeError
from eunoe.domain.log import logger
from eunoe.stages.accounting.list_prices import list_prices
from eunoe.stages.accounting.price import PriceLookup
from eunoe.stages.accounting.price_table import ModelPricingTable
from eunoe_backends.price_sources import OpenRouterPrices, find_prices
from eunoe_openwebui.valves import FilterValves
from eunoe_openwebui.valvetables import read_own_prices

PRICE_LOOK_SECONDS = 600.0
"""How often it is looked whether live prices are too old; they are after a day."""


class PriceShelf:
    """The prices of some valves, made once. Safe across threads; never raises, never waits.

    Live prices are fetched in the background; until they are there, those of the list count.

    Args:
        live: where they come from.
        clock: seconds, rising.
    """

    def __init__(
        self,
        live: OpenRouterPrices | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._live = live if live is not None else OpenRouterPrices()
        self._clock, self._next_look = clock, -float("inf")
        self._own: tuple[str, ModelPricingTable] = ("", ModelPricingTable.empty())
        self._table: ModelPricingTable | None = None
        self._lock = threading.Lock()

    def prices(self, valves: FilterValves) -> PriceLookup:
        """What models cost under these valves."""
        table = list_prices()
        if valves.live_prices:
            table = self._with_live(table)
        own = self._own_table(valves.own_prices)
        return table.merged(own) if own else table

    def _with_live(self, table: ModelPricingTable) -> ModelPricingTable:
        with self._lock:
            if self._clock() >= self._next_look:
                self._next_look = self._clock() + PRICE_LOOK_SECONDS
                threading.Thread(target=self._fetch, name="eunoe-prices", daemon=True).start()
            return self._table if self._table is not None else table

    def _fetch(self) -> None:
        """Look whether the live prices are too old, and fetch them if so."""
        try:
            found = find_prices(live=self._live)
        except Exception as error:  # the list serves
            logger.warning("eunoe has no live prices: %s", type(error).__name__)
            return
        with self._lock:
            self._table = found

    def _own_table(self, text: str) -> ModelPricingTable:
        with self._lock:
            if self._own[0] == text:
                return self._own[1]
        table = ModelPricingTable.empty()
        try:
            table = read_own_prices(text)
        except EunoeError as error:
            logger.warning("the valve own_prices is not read: %s", type(error).__name__)
        with self._lock:
            self._own = (text, table)
        return table
