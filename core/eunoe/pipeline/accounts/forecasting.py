"""Money in the pipeline: what a budget buys, what a request will take, what was reported of it.

ledger = enter_requests([result.forecast], model_id="gpt-4o", usage=answer["usage"])
accounting_line(ledger, allowed=8000, recalled=result.report.recalled)
"""

from __future__ import annotations

from collections.abc import Sequence

from eunoe.domain.budget import Budget
from eunoe.domain.report import Report
from eunoe.pipeline.request import Request
from eunoe.stages.accounting.billing import billed_use
from eunoe.stages.accounting.entry import account_requests
from eunoe.stages.accounting.forecast import RequestForecast
from eunoe.stages.accounting.ledger import Ledger
from eunoe.stages.accounting.list_prices import list_prices
from eunoe.stages.accounting.other_ways import forecast_request
from eunoe.stages.accounting.price import PriceLookup, affordable_tokens, depends_on_price
from eunoe.stages.counting.calibration import read_usage
from eunoe.stages.counting.message_cost import REPLY_PRIMING
from eunoe.wire.given_forms import fields_given


def allowed_by_price(
    budget: Budget, prices: PriceLookup, model_id: str | None
) -> tuple[int, tuple[str, ...]]:
    """Input tokens that a budget allows for a model, 0 for no limit, and what to warn of."""
    if not depends_on_price(budget):
        return affordable_tokens(budget, None), ()
    price = prices.get(model_id)
    warnings: tuple[str, ...] = ()
    if price is None:
        name = model_id or "no model"
        warnings = (f"the price of {name} is not known: money sets no limit",)
    return affordable_tokens(budget, price), warnings


def forecast_of(request: Request, report: Report) -> RequestForecast:
    """The forecast of a request whose list is decided; for the ledger, and for it alone."""
    cut = report.cut
    return forecast_request(
        request.timeline,
        stop=len(request.entries),
        sent=report.tokens_after,
        overhead=report.tool_tokens + REPLY_PRIMING,
        room=None if request.allowed is None else max(0, request.allowed - REPLY_PRIMING),
        start=cut.index if cut is not None else 0,
        fresh_cut=cut is not None and cut.declared,
    )


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
