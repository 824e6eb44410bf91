"""What requests cost: prices, the cache that was hit, the ledger, and whether a cut pays."""

from eunoe.stages.accounting.billing import billed_use, context_tokens
from eunoe.stages.accounting.break_even import (
    PriceRatios,
    WindowShape,
    break_even_requests,
    cost_of_cutting,
    cost_of_keeping,
)
from eunoe.stages.accounting.cache_bust import (
    CacheBust,
    SentPart,
    find_cache_bust,
    sent_parts,
)
from eunoe.stages.accounting.cache_hit import CacheHit, CacheRecord, measure_cache
from eunoe.stages.accounting.entry import account_requests
from eunoe.stages.accounting.forecast import PromptForecast, RequestForecast
from eunoe.stages.accounting.ledger import Account, Ledger, Tally
from eunoe.stages.accounting.list_prices import LIST_PRICES_DATE, list_prices
from eunoe.stages.accounting.other_ways import forecast_request
from eunoe.stages.accounting.price import (
    PICODOLLARS,
    ModelPrice,
    PriceLookup,
    ReportedUse,
    TokenUse,
    affordable_tokens,
    depends_on_price,
    request_cost,
)
from eunoe.stages.accounting.price_table import ModelPricingTable
from eunoe.stages.accounting.priced_limit import PricedLimit, allowed_by_price
from eunoe.stages.accounting.reading_speed import ReadingSpeed
from eunoe.stages.accounting.request_cost import cost_of_entry, estimated_cost
from eunoe.stages.accounting.status_text import (
    accounting_line,
    cache_piece,
    recalled_piece,
    saved_piece,
    sent_piece,
    token_text,
)

__all__ = [
    "LIST_PRICES_DATE",
    "PICODOLLARS",
    "Account",
    "CacheBust",
    "CacheHit",
    "CacheRecord",
    "Ledger",
    "ModelPrice",
    "ModelPricingTable",
    "PriceLookup",
    "PriceRatios",
    "PricedLimit",
    "PromptForecast",
    "ReadingSpeed",
    "ReportedUse",
    "RequestForecast",
    "SentPart",
    "Tally",
    "TokenUse",
    "WindowShape",
    "account_requests",
    "accounting_line",
    "affordable_tokens",
    "allowed_by_price",
    "billed_use",
    "break_even_requests",
    "cache_piece",
    "context_tokens",
    "cost_of_cutting",
    "cost_of_entry",
    "cost_of_keeping",
    "depends_on_price",
    "estimated_cost",
    "find_cache_bust",
    "forecast_request",
    "list_prices",
    "measure_cache",
    "recalled_piece",
    "request_cost",
    "saved_piece",
    "sent_parts",
    "sent_piece",
    "token_text",
]
