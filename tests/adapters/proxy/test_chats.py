from __future__ import annotations

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from eunoe import lint
from eunoe_backends import HttpEmbedder
from proxied import DONE, delta, talk

SURPRISE = "the secret word is halcyon"


def test_a_long_chat_is_fitted_and_said_so(upstream, proxy):
    messages = talk(40)
    running = proxy(max_tokens=1500)
    answer = running.ask(messages, temperature=0.25, odd={"a": [1, None]}, max_tokens=100)
    head = answer.headers
    [(path, _, body)] = upstream.asked
    sent = body.pop("messages")
    assert path == "/v1/chat/completions"
    assert body == {
        "model": "gpt-4o",
        "temperature": 0.25,
        "odd": {"a": [1, None]},
        "max_tokens": 100,
    }
    assert sent[0] == messages[0]
    assert sent[-1] == messages[-1]
    assert len(sent) < len(messages)
    assert all(m in messages for m in sent)
    assert lint(sent) == ()
    assert head["x-eunoe-outcome"] == "fitted"
    assert head["x-eunoe-policy"] == "stable"
    assert int(head["x-eunoe-tokens-before"]) > 1500
    assert int(head["x-eunoe-tokens-after"]) <= 1400 == int(head["x-eunoe-tokens-allowed"])
    assert int(head["x-eunoe-dropped"]) == len(messages) - len(sent)
    assert head["x-eunoe-cut"] in ("held", "declared")
    assert head["x-eunoe-truncated"] == "false"
    assert head["x-eunoe-warnings"] == "0"


def test_kept_messages_keep_their_bytes(upstream, proxy):
    pieces = [json.dumps(m, separators=(" ,", " :\t")) for m in talk(40)]
    body = '{"n":1.0, "messages" : [' + " ,\n".join(pieces) + '] , "seed":1e400}'
    proxy(max_tokens=1500).client.post("/v1/chat/completions", content=body.encode())
    [sent] = upstream.raw
    text = sent.decode()
    assert text.startswith('{"n":1.0, "messages" : [' + pieces[0] + ",")
    assert text.endswith(pieces[-1] + '] , "seed":1e400}')
    assert len(text) < len(body)


@pytest.mark.parametrize(
    ("options", "body", "headers", "allowed"),
    [
        ({}, {}, {}, "115200"),  # nine tenths of the model's window
        ({"context_share": 0.5}, {}, {}, "64000"),
        ({"context_window": 4000}, {}, {}, "3600"),
        ({"context_window": 4000}, {"max_completion_tokens": 1000}, {}, "3000"),
        ({"context_window": 0}, {"model": "unheard-of"}, {}, "unlimited"),
        ({"max_tokens": 1000}, {"model": "unheard-of"}, {}, "1000"),
        ({"max_tokens": 1000}, {"max_tokens": 300}, {}, "700"),
        ({"max_tokens": 1000}, {"max_tokens": 90_000}, {}, "500"),
        ({"max_tokens": 1000}, {"max_tokens": None}, {}, "1000"),
        ({"max_tokens": 1000}, {}, {"X-Eunoe-Max-Tokens": "800"}, "800"),
        ({"max_tokens": 1000}, {}, {"X-Eunoe-Max-Tokens": "5000"}, "1000"),
        ({"max_tokens": 1000, "context_window": 0}, {"num_ctx": 500}, {}, "450"),
    ],
)
def test_how_much_is_allowed(proxy, options, body, headers, allowed):
    answer = proxy(**options).ask(talk(2), headers, **body)
    assert answer.headers["x-eunoe-tokens-allowed"] == allowed


def test_a_caller_may_name_a_policy(proxy):
    running = proxy(max_tokens=1000, policy="window")
    asked = {"X-Eunoe-Policy": "relevance"}
    assert running.ask(talk(20)).headers["x-eunoe-policy"] == "window"
    assert running.ask(talk(20), asked).headers["x-eunoe-policy"] == "relevance"


@pytest.mark.parametrize("policy", ["magic", "off"])
def test_wishes_that_mean_nothing_are_named(proxy, policy):
    """``off`` would send more than the operator's cap."""
    asked = {"X-Eunoe-Policy": policy, "X-Eunoe-Max-Tokens": "-5"}
    head = proxy(max_tokens=1000).ask(talk(20), asked).headers
    assert head["x-eunoe-ignored"] == "X-Eunoe-Policy, X-Eunoe-Max-Tokens"
    assert (head["x-eunoe-policy"], head["x-eunoe-tokens-allowed"]) == ("stable", "1000")


SCHEMA = {"name": "look", "description": "look " * 200}


@pytest.mark.parametrize(
    "field",
    [
        pytest.param({"tools": [{"type": "function", "function": SCHEMA}]}, id="tools"),
        pytest.param({"functions": [SCHEMA]}, id="functions"),
        pytest.param(
            {"response_format": {"type": "json_schema", "json_schema": SCHEMA}}, id="form"
        ),
    ],
)
def test_schemas_take_room(upstream, proxy, field):
    running = proxy(max_tokens=1500, policy="window")
    running.ask(talk(20))
    running.ask(talk(20), **field)
    plain, with_schemas = (len(body["messages"]) for _, _, body in upstream.asked)
    assert with_schemas < plain
    assert field.items() <= upstream.asked[1][2].items()


@pytest.mark.parametrize("path", ["/v1/chat/completions/", "/v1//chat/completions"])
def test_slashes_too_many_change_nothing(upstream, proxy, path):
    running = proxy(max_tokens=1500)
    answer = running.client.post(path, json={"model": "gpt-4o", "messages": talk(20)})
    assert answer.headers["x-eunoe-outcome"] == "fitted"
    assert upstream.asked[0][0] == path


def test_a_question_too_large_in_itself(upstream, proxy):
    messages = [{"role": "user", "content": "long " * 3000}]
    cut = proxy(max_tokens=500).ask(messages).headers
    assert (cut["x-eunoe-truncated"], cut["x-eunoe-outcome"]) == ("true", "fitted")
    whole = proxy(max_tokens=500, on_overflow="keep").ask(messages).headers
    assert int(whole["x-eunoe-over-budget"]) > 2000
    assert upstream.asked[1][2]["messages"] == messages
    strict = proxy(max_tokens=500, on_overflow="refuse")
    refused = strict.ask(messages)
    assert refused.status_code == 400
    assert refused.json()["error"]["code"] == "context_length_exceeded"
    assert len(upstream.asked) == 2
    strict.wait_for('eunoe_failures_total{kind="over_budget"}', 1)


def test_flags_are_read_where_the_operator_wants(upstream, proxy):
    messages = [{"role": "user", "content": "!pin the port is 5433"}]
    proxy().ask(messages)
    proxy(read_flags=True).ask(messages)
    texts = [body["messages"][0]["content"] for _, _, body in upstream.asked]
    assert texts == ["!pin the port is 5433", "… the port is 5433"]


@pytest.mark.parametrize(
    "place",
    [
        "eunoe.pipeline.orchestrator.ContextOrchestrator.process_sync",
        "eunoe_proxy.fitting.read_chat_body",
        "eunoe_proxy.fitting.report_figures",
        "eunoe_proxy.fitting.provider_forecast",
        "eunoe_proxy.body.ChatBody.written",
    ],
)
def test_a_fault_of_ours_sends_the_chat_as_it_came(upstream, proxy, monkeypatch, caplog, place):
    running = proxy(max_tokens=300)

    def fail(*args, **more):
        raise KeyError(SURPRISE)

    monkeypatch.setattr(place, fail)
    messages = [*talk(20), {"role": "user", "content": SURPRISE}]
    answer = running.ask(messages)
    assert answer.status_code == 200
    assert answer.headers["x-eunoe-outcome"] == "untouched"
    assert answer.headers["x-eunoe-reason"] == "fault"
    assert upstream.asked[0][2]["messages"] == messages
    assert "KeyError" in caplog.text
    assert SURPRISE not in caplog.text
    running.wait_for('eunoe_failures_total{kind="fault"}', 1)
    running.wait_for('eunoe_requests_total{outcome="answered"}', 1)


def test_late_the_chat_goes_as_it_came(upstream, proxy, monkeypatch):
    running = proxy(max_tokens=300, deadline=0.3)
    go_on = threading.Event()
    monkeypatch.setattr(
        "eunoe.pipeline.orchestrator.ContextOrchestrator.process_sync",
        lambda *args, **more: go_on.wait(10),
    )
    began = time.monotonic()
    answer = running.ask(talk(20))
    taken = time.monotonic() - began
    go_on.set()
    assert taken < 5
    assert answer.headers["x-eunoe-reason"] == "deadline"
    assert upstream.asked[0][2]["messages"] == talk(20)
    running.wait_for('eunoe_failures_total{kind="deadline"}', 1)


def test_meaning_counts_where_something_embeds(upstream, proxy):
    embedder = HttpEmbedder(upstream.url, "e")
    running = proxy(max_tokens=1500, embedder=embedder)
    assert running.ask(talk(40)).headers["x-eunoe-outcome"] == "fitted"
    end = time.monotonic() + 10
    while not any(text.startswith("Question 0") for text in upstream.texts()):
        assert time.monotonic() < end
        time.sleep(0.02)
    embedder.close()


def test_fifty_at_once_are_never_mixed(upstream, proxy):
    def pieces(body):
        mark = body["messages"][-1]["content"]
        for _ in range(5):
            yield delta(mark)
        yield DONE

    upstream.pieces = pieces
    running = proxy(max_tokens=600)

    def ask(number):
        messages = talk(20, mark=f" <{number}>")
        answer = running.ask(messages, {"Authorization": f"Bearer {number}"}, stream=True)
        return number, answer.content

    with ThreadPoolExecutor(50) as pool:
        for number, content in pool.map(ask, range(50)):
            assert content == delta(f"And now <{number}>?") * 5 + DONE
    for _, headers, body in upstream.asked:
        number = headers["authorization"].removeprefix("Bearer ")
        texts = [m["content"] for m in body["messages"][1:] if m["role"] == "user"]
        assert texts
        assert all(f"<{number}>" in text for text in texts)


def test_a_growing_chat_repeats_the_bytes_before_except_at_declared_cuts(upstream, proxy):
    running = proxy(max_tokens=1500)
    whole = talk(60)
    cuts = []
    for stop in range(2, len(whole), 2):
        head = running.ask(whole[:stop]).headers
        cuts.append((head["x-eunoe-cut"], head["x-eunoe-tokens-after"]))
    assert all(int(tokens) <= 1500 for _, tokens in cuts)
    for before, now, (cut, _) in zip(upstream.raw, upstream.raw[1:], cuts[1:], strict=False):
        assert now.startswith(before[:-2]) is (cut != "declared")
    declared = sum(cut == "declared" for cut, _ in cuts)
    assert 2 <= declared <= 8
