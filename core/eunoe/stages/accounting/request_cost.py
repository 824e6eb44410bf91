"""What one request costs, for its report: from its forecast, or from its entry in a ledger."""

from __future__ import annotations

from collections.abc import Callable

from eunoe.domain.cost import CostAccount, RequestCost, WayCost
from eunoe.domain.log import log_fault
from eunoe.stages.accounting.entry import account_requests
from eunoe.stages.accounting.forecast import RequestForecast
from eunoe.stages.accounting.ledger import Ledger, Tally
from eunoe.stages.accounting.price import ModelPrice, PriceLookup


def estimated_cost(
    foresee: Callable[[], RequestForecast],
    prices: PriceLookup,
    model_id: str | None,
    *,
    hit_share: float = 1.0,
    most_usd: float = 0.0,
) -> CostAccount:
    """For a report: what a request will cost, worked out when somebody looks.

    Args:
        foresee: makes its forecast, in the provider's tokens.
        prices: of models.
        model_id: whose price counts; of an unknown one there are tokens alone.
        hit_share: part of a repeated prefix that the cache gives back, in [0, 1].
        most_usd: dollars that its input may cost; 0 for any.
    """

    def make() -> RequestCost | None:
        price = _found_price(prices, model_id)
        entry = account_requests([foresee()], price, hit_share=hit_share)
        return cost_of_entry(entry, most_usd)

    return CostAccount(make)


def _found_price(prices: PriceLookup, model_id: str | None) -> ModelPrice | None:
    """The price; none where a caller's own lookup fails: a report can be read all the same."""
    try:
        return prices.get(model_id)
    except Exception as error:
        log_fault(error, "the report tells tokens alone", "found no price")
        return None


def cost_of_entry(entry: Ledger, most_usd: float = 0.0) -> RequestCost | None:
    """What the one request of a ledger cost; None if it holds none, or several."""
    account = entry.total
    if account.sent.requests != 1:
        return None

    def way(tally: Tally) -> WayCost:
        usd = None if tally.unpriced else tally.cost_usd
        return WayCost(prompt=tally.prompt, cached=tally.cached, usd=usd)

    return RequestCost(
        sent=way(account.sent),
        untouched=way(account.untouched),
        window=way(account.window),
        measured=entry.is_measured,
        untouched_fits=not account.untouched_over,
        most_usd=most_usd,
    )
