"""Money in the pipeline: what requests will take, and what was reported of them.

ledger = enter_requests([result.forecast], model_id="gpt-4o", usage=answer["usage"])
accounting_line(ledger, allowed=8000, recalled=result.report.recalled)
"""

from __future__ import annotations

from collections.abc import Sequence

from eunoe.stages.accounting.billing import billed_use
from eunoe.stages.accounting.entry import account_requests
from eunoe.stages.accounting.forecast import RequestForecast
from eunoe.stages.accounting.ledger import Ledger
from eunoe.stages.accounting.list_prices import list_prices
from eunoe.stages.accounting.price import PriceLookup
from eunoe.stages.counting.calibration import read_usage
from eunoe.wire.given_forms import fields_given


def enter_requests(
    forecasts: Sequence[RequestForecast],
    *,
    model_id: str | None,
    usage: object = None,
    prices: PriceLookup | None = None,
    hit_share: float = 1.0,
) -> Ledger:
    """The ledger of one request, or of the requests of one turn.

    Args:
        forecasts: one for each request, in order; a tool loop has several.
        model_id: whose price counts; none of an unknown model.
        usage: what the provider reported for all of them, as it came; sums over a tool loop are
            read as sums. None, or what cannot be read: all is estimated.
        prices: by default list prices.
        hit_share: part of a repeated prefix that the cache gives back, in [0, 1], where it has been
            learnt (``CacheRecord``).

    Returns:
        An entry to add to the ledger of the chat.
    """
    table = prices if prices is not None else list_prices()
    told = fields_given(usage) or usage
    reported = billed_use(told, read_usage(told))
    price = table.get(model_id)
    return account_requests(forecasts, price, reported=reported, hit_share=hit_share)
