"""Summaries that workers share: the first one stays, and a server that is away costs nothing."""

from __future__ import annotations

import threading

import pytest
import redis

from ask import sent_by
from eunoe import ContextOrchestrator, Conversation, Settings, TokenBudget
from eunoe.pipeline.chat.transcript import PipelineMemory
from eunoe_backends import RedisLink, RedisSummaryStore
from judge import said


@pytest.fixture
def store(redis_url):
    return RedisSummaryStore(RedisLink.from_url(redis_url, timeout=5), prefix="test")


@pytest.fixture
def client(redis_url):
    with redis.Redis.from_url(redis_url, decode_responses=True) as made:
        yield made


def test_what_one_worker_keeps_another_finds(store, client, redis_url):
    assert store.find(["a", "b"]) == [None, None]
    assert store.keep("a", "said é") == "said é"
    other = RedisSummaryStore(RedisLink.from_url(redis_url, timeout=5), prefix="test")
    assert other.find(["b", "a"]) == [None, "said é"]
    assert other.keep("a", "said otherwise") == "said é"
    assert other.find([]) == []
    [name] = client.keys("*")
    assert name == "test:summary:a"
    assert 29 * 86_400 < client.ttl(name) <= 30 * 86_400


def test_half_a_character_is_kept_as_a_mark(store):
    assert store.keep("a", "half \ud83d") == "half \ud83d"
    assert store.find(["a"]) == ["half ?"]


def test_a_server_that_is_away_has_nothing():
    away = RedisSummaryStore(RedisLink.from_url("redis://127.0.0.1:9/0", timeout=0.2))
    assert away.find(["a", "b"]) == [None, None]
    assert away.keep("a", "ours") == "ours"


class Notes:
    """Writes notes in words of its own."""

    name = "notes"

    def __init__(self, word="plainly", together=None):
        self.times, self.word, self.together = 0, word, together

    def summarize(self, messages, **more):
        self.times += 1
        if self.together is not None:
            self.together.wait(10)
        return f"Guests came and went, {self.word}."


def chat():
    messages = [{"role": "system", "content": "Be kind."}]
    for k in range(60):
        messages += [
            {"role": "user", "content": f"Guest number {k} came by. " + "So it is. " * 20},
            {"role": "assistant", "content": "Noted, as you said. " * 20},
        ]
    return Conversation.from_openai_messages([*messages, {"role": "user", "content": "Go on."}])


def worker(summarizer, store):
    return ContextOrchestrator(
        TokenBudget(2000),
        settings=Settings(recall="never"),
        memory=PipelineMemory(),
        summarizer=summarizer,
        summary_store=store,
    )


def test_a_second_worker_shows_the_same_and_asks_no_model(store):
    first, second = Notes(), Notes()
    one, two = worker(first, store), worker(second, store)
    for _ in range(3):
        before = one.process_sync(chat())
        one.drain()
    after = two.process_sync(chat())
    two.drain()
    assert sent_by(after) == sent_by(before)
    assert any("<summary note=" in said(m) for m in sent_by(after))
    assert second.times == 0


def test_of_two_that_write_at_once_one_stays(store):
    together = threading.Barrier(2)
    first, second = Notes("said the one", together), Notes("said the other", together)
    one, two = worker(first, store), worker(second, store)
    one.process_sync(chat())
    two.process_sync(chat())
    one.drain()
    two.drain()
    assert first.times == second.times > 0
    first.together = second.together = None
    shown = sent_by(one.process_sync(chat()))
    assert any("<summary note=" in said(m) for m in shown)
    assert shown == sent_by(two.process_sync(chat()))
