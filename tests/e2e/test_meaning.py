"""Embeddings and labels in the real host: asked behind the answers, used in the next turns."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable
from typing import Any

import pytest

from e2e.talk import FILTER, PLAIN_MODEL, long_chat
from e2e.upstream import Json, Reply, Upstream, text_of
from e2e.webapi import WebApi

FACT = "For the gate one types 4711 on the keypad."
QUESTION = "How do I enter?"
BUDGET = 2000


def meaning(text: str) -> list[float]:
    """Getting in is one subject; everything else differs a little."""
    near = "4711" in text or "enter?" in text
    return [1.0, 0.1, 0.0] if near else [0.1, 1.0, len(text) % 7 / 9]


def valves(embedding: str, upstream: Upstream) -> dict[str, Any]:
    chosen: dict[str, Any] = {
        "max_tokens": BUDGET,
        "embedding": embedding,
        "embedding_seconds": 5,
    }
    if embedding == "url":
        chosen |= {"embedding_url": upstream.url, "embedding_model": "m", "embedding_key": "sk-no"}
    return chosen


def until(true: Callable[[], bool], seconds: float = 180) -> None:
    """Wait for what happens behind an answer."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.05)


def sent_last(upstream: Upstream) -> str:
    return "\n".join(text_of(m) for m in upstream.requests[-1].messages)


@pytest.mark.parametrize("embedding", ["host", "url"])
def test_a_paraphrase_is_found_once_the_chat_is_embedded(
    admin: WebApi, fresh: Upstream, embedding: str
) -> None:
    admin.set_valves(FILTER, valves(embedding, fresh))
    fresh.meaning = meaning
    fact = f"{FACT} It is number {uuid.uuid4()}."  # no vector of an earlier test helps
    chat = [("user", fact), ("assistant", "Noted."), *long_chat(60)]
    last = admin.import_chat(PLAIN_MODEL, chat)
    turn = admin.ask(PLAIN_MODEL, "Good, and now?", last)
    until(lambda: fact in fresh.embedded)
    assert "4711" not in sent_last(fresh)

    def finds_it() -> bool:  # the host embeds text by text; a later question has more vectors
        nonlocal turn
        turn = admin.ask(PLAIN_MODEL, QUESTION, (turn.chat_id, turn.answer_id))
        return "4711" in sent_last(fresh)

    until(finds_it)
    assert "recalled" in turn.status_lines[0]
    assert fresh.requests[-1].problems == ()
    assert fresh.requests[-1].tokens <= BUDGET


@pytest.mark.parametrize("embedding", ["host", "url", "local"])
def test_without_vectors_words_decide(admin: WebApi, fresh: Upstream, embedding: str) -> None:
    admin.set_valves(FILTER, valves(embedding, fresh))
    last = admin.import_chat(PLAIN_MODEL, [("user", FACT), ("assistant", "Ok."), *long_chat(60)])
    for question in ("Good, and now?", "Which number opens the gate on the keypad?"):
        turn = admin.ask(PLAIN_MODEL, question, last)
        last = (turn.chat_id, turn.answer_id)
        assert turn.message["content"].startswith("echo: ")
    assert "4711" in sent_last(fresh)  # the words "gate" and "keypad"
    assert "words alone" in turn.status_lines[0] or embedding == "local"


def test_labels_are_had_behind_the_answer(admin: WebApi, fresh: Upstream) -> None:
    def answer(body: Json) -> Reply:
        first = text_of(body["messages"][0])
        if not first.startswith("You label"):
            return Reply("A note.")
        lines = text_of(body["messages"][-1]).split("Messages:\n")[1].splitlines()
        return Reply(json.dumps({str(k): "M" for k, _ in enumerate(lines, 1)}))

    fresh.answer = answer
    labels = {"label_url": fresh.url, "label_model": "small", "label_key": "sk-no"}
    admin.set_valves(FILTER, {"max_tokens": BUDGET, **labels})
    last = admin.import_chat(PLAIN_MODEL, long_chat(60))
    turn = admin.ask(PLAIN_MODEL, "Good, and now?", last)
    until(lambda: any(seen.body["model"] == "small" for seen in fresh.requests))
    turn = admin.ask(PLAIN_MODEL, "Tell me more about it.", (turn.chat_id, turn.answer_id))
    assert turn.message["content"] == "A note."
    assert all(seen.problems == () for seen in fresh.requests)


def test_what_is_left_out_is_summed_up_behind_the_answer(admin: WebApi, fresh: Upstream) -> None:
    number = str(uuid.uuid4().int)[:9]  # no summary of an earlier test helps

    def answer(body: Json) -> Reply:
        if body["model"] == "small":
            return Reply(f"- The gate has the number {number}.\n- The safe has the number 31337.")
        return Reply("A note.")

    fresh.answer = answer
    summaries = {"summary_url": fresh.url, "summary_model": "small", "summary_key": "sk-no"}
    admin.set_valves(FILTER, {"max_tokens": BUDGET, "recall": "never", **summaries})
    chat = [("user", f"The gate has the number {number}."), ("assistant", "Ok."), *long_chat(60)]
    turn = admin.ask(PLAIN_MODEL, "Good, and now?", admin.import_chat(PLAIN_MODEL, chat))

    def is_summed_up() -> bool:
        nonlocal turn
        turn = admin.ask(PLAIN_MODEL, "Go on.", (turn.chat_id, turn.answer_id))
        spoken = [seen for seen in fresh.requests if seen.body["model"] == PLAIN_MODEL]
        sent = "\n".join(text_of(m) for m in spoken[-1].messages)
        assert spoken[-1].tokens <= BUDGET
        assert "31337" not in sent
        return f"The gate has the number {number}." in sent

    until(is_summed_up)
    assert "summarised" in turn.status_lines[0]
    assert all(seen.problems == () for seen in fresh.requests)
    assert turn.message["content"] == "A note."
