"""Prices from outside: a file, and a live list that works offline, too."""

from __future__ import annotations

import builtins
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from eunoe import BackendError, SettingsError
from eunoe.stages.accounting import ModelPrice, list_prices
from eunoe_backends import OpenRouterPrices, find_prices, read_price_file
from eunoe_backends.price_sources import parse_openrouter_models

LISTED = {
    "data": [
        {
            "id": "openai/gpt-4o",
            "pricing": {
                "prompt": "0.000003",
                "completion": "0.000012",
                "input_cache_read": "0.0000015",
                "input_cache_write": "0",
            },
        },
        {"id": "new/Model-9", "pricing": {"prompt": "0.000001", "completion": "0.000002"}},
        {"id": "new/model-9:free", "pricing": {"prompt": "0", "completion": "0"}},
        {"id": "one/same", "pricing": {"prompt": "1e-6", "completion": "1e-6"}},
        {"id": "two/same", "pricing": {"prompt": "2e-6", "completion": "2e-6"}},
        {"id": "openrouter/auto", "pricing": {"prompt": "-1", "completion": "-1"}},
        {"id": "odd/a", "pricing": {"prompt": "x", "completion": None}},
        {"id": "odd/b", "pricing": None},
        {"id": None},
        3,
    ]
}


class Clock:
    now = 1_796_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def listing():
    """A server whose answer can be changed; counts its requests."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.server.asked += 1
            self.send_response(self.server.status)
            self.end_headers()
            self.wfile.write(self.server.body)

        def log_message(self, *args):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.asked, server.status, server.body = 0, 200, json.dumps(LISTED).encode()
        server.url = f"http://127.0.0.1:{server.server_port}/models"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_the_list_is_read(listing, clock):
    table = OpenRouterPrices(url=listing.url, clock=clock).table()
    price = ModelPrice(input=3, cached=1.5, output=12)
    assert table.get("openai/gpt-4o") == table.get("openrouter/openai/gpt-4o") == price
    assert table.get("model-9").input == 1
    assert table.get("new/model-9:free") == ModelPrice(input=0, output=0)
    assert table.get("same") is None  # two vendors have one
    assert table.get("two/same").input == 2
    assert table.get("openrouter/auto") is None
    assert table.source == "OpenRouter 2026-11-30"


def test_it_is_kept_for_a_while_and_then_fetched_anew(listing, clock, tmp_path):
    file = tmp_path / "folder" / "prices.json"
    one = OpenRouterPrices(file, url=listing.url, clock=clock, ttl_hours=24)
    assert len(one.table()) == len(one.table()) == 5
    clock.now += 23 * 3600
    assert len(OpenRouterPrices(file, url=listing.url, clock=clock).table()) == 5
    assert listing.asked == 1
    clock.now += 2 * 3600
    assert len(one.table()) == 5
    assert listing.asked == 2
    assert "new/Model-9" in file.read_text()


@pytest.mark.parametrize(
    ("status", "body"),
    [(500, b"{}"), (200, b"no json"), (200, b"[" * 100_000), (200, b"{}"), (200, b'{"data": []}')],
)
def test_offline_the_old_list_serves(listing, clock, tmp_path, status, body, caplog):
    file = tmp_path / "prices.json"
    OpenRouterPrices(file, url=listing.url, clock=clock).table()
    listing.status, listing.body = status, body
    clock.now += 1000 * 3600
    later = OpenRouterPrices(file, url=listing.url, clock=clock)
    assert len(later.table()) == len(later.table()) == 5
    assert listing.asked == 2  # a failed try is not repeated at once
    assert "no live prices" in caplog.text
    clock.now += 601
    later.table()
    assert listing.asked == 3


def test_with_nothing_kept_and_nobody_there_it_is_empty(clock, tmp_path):
    prices = OpenRouterPrices(tmp_path / "p.json", url="http://127.0.0.1:9/", clock=clock)
    assert len(prices.table()) == 0
    assert prices.table().get("gpt-4o") is None
    with pytest.raises(BackendError):
        prices.refresh()


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", '{"fetched": "x", "answer": {}}', "nonsense", "[" * 100_000]
)
def test_a_spoilt_file_is_fetched_over(listing, clock, tmp_path, text):
    file = tmp_path / "prices.json"
    file.write_text(text)
    prices = OpenRouterPrices(file, url=listing.url, clock=clock)
    assert len(prices.kept()) == 0
    assert listing.asked == 0
    assert len(prices.table()) == 5
    assert json.loads(file.read_text())["fetched"] == clock.now


def test_a_file_that_cannot_be_kept_is_no_fault(listing, clock, tmp_path, caplog):
    (tmp_path / "file").write_text("")
    prices = OpenRouterPrices(tmp_path / "file" / "p.json", url=listing.url, clock=clock)
    assert len(prices.table()) == 5
    assert "not kept" in caplog.text


def test_without_httpx_the_extra_is_named(monkeypatch, clock):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.split(".")[0] == "httpx":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(BackendError, match=r"pip install 'eunoe\[http\]'"):
        OpenRouterPrices(clock=clock).refresh()
    assert len(OpenRouterPrices(clock=clock).table()) == 0


@pytest.mark.parametrize("odd", [None, 3, [], {}, {"data": 3}, {"data": [None]}])
def test_what_is_no_list(odd):
    assert len(parse_openrouter_models(odd)) == 0


def test_an_own_file_goes_over_live_prices_and_these_over_the_list(listing, clock, tmp_path):
    file = tmp_path / "own.json"
    file.write_text('\ufeff{"models": {"gpt-4o": {"input": 1, "output": 2}}}', encoding="utf-8")
    live = OpenRouterPrices(url=listing.url, clock=clock)
    table = find_prices(own_file=file, live=live, aliases={"chef": "gpt-4o"})
    assert table.get("gpt-4o").input == table.get("chef").input == 1
    assert table.get("openrouter/openai/gpt-4o").input == 3
    assert table.get("gpt-4.1") == list_prices().get("gpt-4.1")
    assert table.source.startswith("own.json, OpenRouter 2026-11-30, list prices")
    assert find_prices() == list_prices()


def test_live_prices_count_under_the_makers_own_name_too(listing, clock):
    table = find_prices(
        live=OpenRouterPrices(url=listing.url, clock=clock), aliases={"a": "gpt-4o"}
    )
    assert list_prices().get("gpt-4o").input != 3
    assert table.get("gpt-4o").input == table.get("a").input == 3
    assert table.get("gpt-4o-2024-05-13") == list_prices().get("gpt-4o-2024-05-13")


def test_what_live_prices_do_not_tell_is_that_of_the_list(listing, clock):
    pricing = {"prompt": "0.000007", "completion": "0.00003"}
    rows = [{"id": "openai/gpt-5.4", "pricing": pricing}, {"id": "groq/new", "pricing": pricing}]
    listing.body = json.dumps({"data": rows}).encode()
    table = find_prices(live=OpenRouterPrices(url=listing.url, clock=clock))
    price, listed = table.get("gpt-5.4"), list_prices().get("gpt-5.4")
    assert (price.input, price.output) == (7, 30)
    assert price.long_from == listed.long_from == 272_000
    assert price.cache_from == listed.cache_from
    assert table.get("groq/new").long_from == 0


@pytest.mark.parametrize(
    "text", [None, "nonsense", "[" * 100_000, "[3]", '{"m": {"input": -1, "output": 1}}']
)
def test_a_wrong_own_file_is_refused(tmp_path, text):
    file = tmp_path / "own.json"
    if text is not None:
        file.write_text(text)
    with pytest.raises(SettingsError):
        read_price_file(file)


@pytest.mark.parametrize("wrong", [{"ttl_hours": 0}, {"timeout": -1}, {"timeout": float("inf")}])
def test_wrong_settings(wrong):
    with pytest.raises(SettingsError):
        OpenRouterPrices(**wrong)
