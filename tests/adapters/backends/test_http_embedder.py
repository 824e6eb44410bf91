"""Vectors from a server: each text once, in order, shared through Redis, never wrong ones."""

from __future__ import annotations

import base64
import json

import numpy as np
import pytest

from eunoe import BackendError, ContextOrchestrator, Conversation, SettingsError, TokenBudget
from eunoe.pipeline.chat.transcript import PipelineMemory
from eunoe_backends import HttpEmbedder, RedisLink
from eunoe_backends.http_embedder import read_embeddings
from model_server import letters_of, running_server

pytest.importorskip("httpx")


@pytest.fixture
def models():
    with running_server() as running:
        yield running


def unit(text):
    row = np.array(letters_of(text))
    return row / np.linalg.norm(row)


def test_texts_go_in_batches_and_come_back_in_order(models):
    embedder = HttpEmbedder(models.url, "letters", batch=3)
    texts = [f"text {'abcdefgh'[i]}" for i in range(8)]
    got = embedder.embed([*texts, texts[2]])
    assert np.allclose(got, [unit(t) for t in [*texts, texts[2]]], atol=1e-6)
    assert [len(body["input"]) for _, _, body in models.asked] == [3, 3, 2]
    assert embedder.dimension is None
    assert embedder.embed([]) == []
    embedder.close()


def test_a_text_is_sent_once_and_the_oldest_is_forgotten(models):
    embedder = HttpEmbedder(models.url, "letters", remembered=2)
    for text in ("one", "two", "one", "three", "one", "two"):
        embedder.embed([text])
    assert models.texts() == ["one", "two", "three", "two"]
    embedder.close()


def test_long_empty_and_broken_texts_are_sent_as_a_server_takes_them(models):
    embedder = HttpEmbedder(models.url, "letters", max_characters=10)
    embedder.embed(["x" * 100, "", "a\ud800"])
    assert models.texts() == ["x" * 10, " ", "a?"]
    embedder.close()


@pytest.mark.parametrize(
    "answer",
    [
        "{}",
        "[]",
        '{"data": []}',
        '{"data": [{"embedding": [1, 2]}, {"embedding": [1]}]}',
        '{"data": [{"index": 0, "embedding": [1]}, {"index": 0, "embedding": [1]}]}',
        '{"data": [{"embedding": 7}, {"embedding": [1, 0]}]}',
        '{"data": [{"index": 0}, {"embedding": [1, 0]}]}',
        '{"data": [{"embedding": "?"}, {"embedding": "?"}]}',
        '{"data": [1, 2]}',
        '{"data": [{"index": "0", "embedding": [1]}, {"index": 1, "embedding": [1]}]}',
    ],
)
def test_an_answer_without_all_vectors_is_a_fault(models, answer):
    models.answer = answer
    embedder = HttpEmbedder(models.url, "letters")
    with pytest.raises(BackendError):
        embedder.embed(["a", "b"])
    embedder.close()


@pytest.mark.parametrize("bad", ["null", "[]", "[0, 0]", "[1, null]", "[1, NaN]"])
def test_a_text_without_a_vector_costs_the_others_nothing_and_is_sent_once(models, bad):
    models.answer = f'{{"data": [{{"embedding": [1, 0]}}, {{"embedding": {bad}}}]}}'
    embedder = HttpEmbedder(models.url, "letters", dimensions=2)
    one, none = embedder.embed(["a", "b"])
    assert one.tolist() == [1.0, 0.0]
    assert none is None
    again = embedder.embed(["b", "a"])
    assert again[0] is None
    assert again[1].tolist() == [1.0, 0.0]
    models.answer = f'{{"data": [{{"embedding": {bad}}}]}}'
    assert embedder.embed(["c"]) == embedder.embed(["c"]) == [None]
    assert models.texts() == ["a", "b", "c"]
    embedder.close()


def test_a_length_that_was_asked_for(models):
    models.answer = '{"data": [{"embedding": [1, 0]}]}'
    embedder = HttpEmbedder(models.url, "letters", dimensions=2)
    assert embedder.embed(["a"])[0].tolist() == [1.0, 0.0]
    assert models.asked[0][2]["dimensions"] == embedder.dimension == 2
    models.answer = '{"data": [{"embedding": [1, 0, 0]}]}'
    with pytest.raises(BackendError, match="another length"):
        embedder.embed(["b"])
    embedder.close()


def test_base64_is_read():
    text = base64.b64encode(np.array([3, 4], "<f4").tobytes()).decode()
    got = read_embeddings({"data": [{"embedding": text}]}, 1)
    assert got is not None
    assert got[0].tolist() == pytest.approx([0.6, 0.8])


def test_workers_share_vectors(models, redis_url):
    first = HttpEmbedder(models.url, "letters", redis=RedisLink.from_url(redis_url, timeout=5))
    second = HttpEmbedder(models.url, "letters", redis=RedisLink.from_url(redis_url, timeout=5))
    other = HttpEmbedder(models.url, "others", redis=RedisLink.from_url(redis_url, timeout=5))
    mine = first.embed(["shared", "text"])
    asked = len(models.asked)
    assert np.array_equal(second.embed(["text", "shared"]), mine[::-1])
    assert len(models.asked) == asked
    other.embed(["shared"])
    assert len(models.asked) == asked + 1
    for embedder in (first, second, other):
        embedder.close()


def test_without_its_redis_it_goes_on(models):
    link = RedisLink.from_url("redis://127.0.0.1:1/0", timeout=0.2)
    embedder = HttpEmbedder(models.url, "letters", redis=link)
    assert len(embedder.embed(["a", "b"])) == 2
    embedder.close()


@pytest.mark.parametrize(
    "more", [{"batch": 0}, {"max_characters": 0}, {"dimensions": 0}, {"model": ""}]
)
def test_settings_out_of_range(more):
    with pytest.raises(SettingsError):
        HttpEmbedder("http://localhost/v1", **{"model": "m", **more})


def long_chat():
    words = ["garden", "trumpet", "harbour", "winter", "bicycle"]
    chat = []
    for i in range(60):
        chat.append({"role": "user", "content": f"tell me of {words[i % 5]} number {i} " * 4})
        chat.append({"role": "assistant", "content": f"it is a fine {words[i % 5]} " * 6})
    return [*chat, {"role": "user", "content": "zzzz qqqq"}]


def test_a_request_goes_on_while_the_server_hangs_and_is_better_when_it_answers(models):
    chat = long_chat()
    chat[6]["content"] = "zq zzq qz zzzqq zqzq"
    orchestrator = ContextOrchestrator(
        TokenBudget(1500),
        memory=PipelineMemory(),
        embedder=HttpEmbedder(models.url, "letters", timeout=0.3, attempts=1),
        embed_timeout=0.1,
    )
    asked = Conversation.from_openai_messages(chat)
    models.delay = 1.0
    late = orchestrator.process_sync(asked, policy="relevance")
    assert any("not embedded" in warning for warning in late.report.warnings)
    models.delay = 0.0
    orchestrator.drain()
    fresh = ContextOrchestrator(
        TokenBudget(1500), memory=PipelineMemory(), embedder=HttpEmbedder(models.url, "letters")
    )
    fresh.process_sync(asked, policy="relevance")
    fresh.drain()
    found = fresh.process_sync(asked, policy="relevance")
    assert found.report.warnings == ()
    assert found.report.decisions[6].fate in ("kept", "recalled")
    assert json.dumps(found.report.to_dict())
