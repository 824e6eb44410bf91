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
from eunoe_backends.current_prices import CurrentPrices
from eunoe_backends.price_sources import OpenRouterPrices
from eunoe_openwebui.valves import FilterValves
from eunoe_openwebui.valvetables import read_own_prices


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
        source = live if live is not None else OpenRouterPrices()
        self._live = CurrentPrices(live=source, clock=clock)
        self._own: tuple[str, ModelPricingTable] = ("", ModelPricingTable.empty())
        self._lock = threading.Lock()

    def prices(self, valves: FilterValves) -> PriceLookup:
        """What models cost under these valves."""
        table = self._live.table() if valves.live_prices else list_prices()
        own = self._own_table(valves.own_prices)
        return table.merged(own) if own else table

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
