"""Ledgers in memory and in a file."""

from __future__ import annotations

import json
import multiprocessing
import os
import threading

import pytest

from eunoe.stages.accounting import Ledger
from eunoe_backends import InMemoryLedgerStore, JsonLinesLedgerStore


@pytest.fixture(params=["memory", "file"])
def store(request, tmp_path):
    if request.param == "memory":
        return InMemoryLedgerStore()
    return JsonLinesLedgerStore(tmp_path / "new" / "ledger.jsonl")


def test_by_chat_and_in_total(store, entry):
    assert store.total() == store.of("a") == Ledger()
    assert store.chats() == {}
    store.add("b", entry(1000))
    store.add("a", entry(500, reported=False))
    store.add("a", entry(20))
    store.add("", entry(7))
    assert store.of("a") == entry(500, reported=False) + entry(20)
    assert list(store.chats()) == ["", "a", "b"]
    assert store.total() == Ledger.merge(list(store.chats().values()))
    assert store.of("") == entry(7)


def test_threads_lose_nothing(store, entry):
    def work() -> None:
        for _ in range(50):
            store.add("a", entry(10))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store.total().total.sent.requests == 200


def test_memory_is_bounded_and_totals_stay_right(entry):
    store = InMemoryLedgerStore(max_chats=3)
    for name in "abcadef":
        store.add(name, entry(10))
    assert list(store.chats()) == ["", "d", "e", "f"]
    assert store.total() == Ledger.merge([entry(10)] * 7)


def test_a_torn_line_costs_itself_alone(tmp_path, entry):
    path = tmp_path / "ledger.jsonl"
    store = JsonLinesLedgerStore(path)
    store.add("a", entry(1))
    store.add("a", entry(2))
    whole = path.read_text()
    path.write_text(whole[:-30])
    store.add("a", entry(3))
    assert store.total() == entry(1) + entry(3)


def test_a_line_that_is_nested_too_deeply_is_passed_over(tmp_path, entry):
    path = tmp_path / "ledger.jsonl"
    path.write_text("[" * 100_000 + "\n")
    store = JsonLinesLedgerStore(path)
    assert store.chats() == {}
    store.add("a", entry(1))
    assert store.total() == entry(1)


def test_lines_that_are_none_are_passed_over(tmp_path, entry):
    path = tmp_path / "ledger.jsonl"
    path.write_bytes(
        b'\n{}\n[1]\n{"chat": 3}\nnonsense\n\xff\xfe\n{"chat": "a", "figures": null}\n'
    )
    store = JsonLinesLedgerStore(path)
    assert store.total() == Ledger()
    store.add("a", entry(1))
    assert store.of("a") == entry(1)


def test_a_line_is_read_by_people_too(tmp_path, entry):
    path = tmp_path / "ledger.jsonl"
    JsonLinesLedgerStore(path).add("a", entry(1000))
    line = json.loads(path.read_text())
    assert (line["chat"], line["requests"], line["measured"]) == ("a", 1, True)
    assert line["cost_usd"] == pytest.approx(0.001475)
    assert path.stat().st_mode & 0o077 == 0


def test_a_file_that_cannot_be_written_costs_the_entry_and_is_said_once(tmp_path, entry, caplog):
    store = JsonLinesLedgerStore(tmp_path)
    store.add("a", entry(1))
    store.add("a", entry(1))
    assert store.total() == Ledger()
    assert len(caplog.records) == 1


needs_locks = pytest.mark.skipif(os.name != "posix", reason="no file locks here")


@needs_locks
def test_a_large_file_is_summed_up_by_chat(tmp_path, entry):
    path = tmp_path / "ledger.jsonl"
    store = JsonLinesLedgerStore(path, compact_bytes=5_000)
    expected = []
    for number in range(200):
        one = entry(number + 1, reported=number % 3 > 0)
        expected.append(one)
        store.add("abc"[number % 3], one)
        assert path.stat().st_size < 5_600
    assert store.total() == Ledger.merge(expected)
    assert list(store.chats()) == ["a", "b", "c"]
    assert store.of("b") == Ledger.merge(expected[1::3])
    assert path.stat().st_mode & 0o077 == 0
    assert [p.name for p in tmp_path.iterdir()] == ["ledger.jsonl"]


@needs_locks
def test_what_cannot_be_summed_up_further_is_not_tried_at_each_entry(tmp_path, entry):
    path = tmp_path / "ledger.jsonl"
    store = JsonLinesLedgerStore(path, compact_bytes=2_000)
    inodes = set()
    for number in range(100):
        store.add(f"chat {number}", entry(10))
        inodes.add(path.stat().st_ino)
        if len(inodes) > 1:
            assert json.loads(path.read_text().split("\n")[0])["compacted_bytes"] > 0
    assert len(store.chats()) == 100
    assert path.read_text().count("compacted_bytes") == 1


@needs_locks
def test_a_torn_line_survives_no_summing_up(tmp_path, entry):
    path = tmp_path / "ledger.jsonl"
    JsonLinesLedgerStore(path).add("a", entry(1))
    path.write_text(path.read_text() + '{"chat": "a", "fig')
    JsonLinesLedgerStore(path, compact_bytes=1).add("a", entry(2))
    assert JsonLinesLedgerStore(path).total() == entry(1) + entry(2)
    assert len(path.read_text().splitlines()) == 2


def _add_many(path, number):
    from eunoe.stages.accounting import Account, Tally

    store = JsonLinesLedgerStore(path, compact_bytes=3_000)
    for _ in range(60):
        one = Ledger(measured=Account(sent=Tally(requests=1, prompt=number)))
        store.add(f"chat {number}", one)


@needs_locks
def test_several_processes_lose_nothing(tmp_path):
    path = tmp_path / "ledger.jsonl"
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=_add_many, args=(path, n)) for n in range(1, 5)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    chats = JsonLinesLedgerStore(path).chats()
    for number in range(1, 5):
        sent = chats[f"chat {number}"].measured.sent
        assert (sent.requests, sent.prompt) == (60, 60 * number)


@needs_locks
def test_who_cannot_write_anew_keeps_the_entries(tmp_path, entry, monkeypatch, caplog):
    path = tmp_path / "ledger.jsonl"
    store = JsonLinesLedgerStore(path, compact_bytes=1)

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("eunoe_backends.ledger_store.write_whole", fail)
    for _ in range(3):
        store.add("a", entry(5))
    assert store.total() == Ledger.merge([entry(5)] * 3)
    assert len(caplog.records) == 1
