"""What stands outside the core: models, live prices, ledgers, Redis, an observer's page."""

from eunoe_backends.current_prices import CurrentPrices
from eunoe_backends.http_embedder import HttpEmbedder
from eunoe_backends.label_scorer import ChatLabeller
from eunoe_backends.ledger_store import InMemoryLedgerStore, JsonLinesLedgerStore, LedgerStore
from eunoe_backends.llm_summarizer import LLMSummarizer
from eunoe_backends.local_embedder import MiniLmEmbedder, WordLlamaEmbedder
from eunoe_backends.price_sources import OpenRouterPrices, find_prices, read_price_file
from eunoe_backends.redis_ledger import RedisLedgerStore
from eunoe_backends.redis_link import RedisLink
from eunoe_backends.redis_summaries import RedisSummaryStore
from eunoe_backends.remote_observer import RemoteObserver
from eunoe_backends.spacy_extractor import SpacyExtractor

__all__ = [
    "ChatLabeller",
    "CurrentPrices",
    "HttpEmbedder",
    "InMemoryLedgerStore",
    "JsonLinesLedgerStore",
    "LLMSummarizer",
    "LedgerStore",
    "MiniLmEmbedder",
    "OpenRouterPrices",
    "RedisLedgerStore",
    "RedisLink",
    "RedisSummaryStore",
    "RemoteObserver",
    "SpacyExtractor",
    "WordLlamaEmbedder",
    "find_prices",
    "read_price_file",
]
