"""What stands outside the process: live prices, price files, ledgers on disk and on Redis."""

from eunoe_backends.ledger_store import InMemoryLedgerStore, JsonLinesLedgerStore, LedgerStore
from eunoe_backends.price_sources import OpenRouterPrices, find_prices, read_price_file
from eunoe_backends.redis_ledger import RedisLedgerStore
from eunoe_backends.redis_link import RedisLink

__all__ = [
    "InMemoryLedgerStore",
    "JsonLinesLedgerStore",
    "LedgerStore",
    "OpenRouterPrices",
    "RedisLedgerStore",
    "RedisLink",
    "find_prices",
    "read_price_file",
]
