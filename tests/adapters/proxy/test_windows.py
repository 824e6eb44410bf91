from __future__ import annotations

import asyncio
import json
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from eunoe_proxy.settings import ProxySettings
from eunoe_proxy.upstream import Upstream
from eunoe_proxy.windows import WindowList, read_windows
from proxied import talk

LISTED = {
    "data": [
        {"id": "a", "max_model_len": 4000},
        {"id": "b", "meta": {"n_ctx_train": 32_768}},
        {"id": "c", "context_length": "2000"},
        {"id": "gpt-4o"},  # its name is looked up where it is asked for
        {"id": "gpt-4", "max_model_len": 2000},  # a server may give a model any name
        {"id": 7, "max_model_len": 4000},
        "nonsense",
    ]
}


@pytest.mark.parametrize("listed", [LISTED, LISTED["data"]])
def test_windows_are_read_from_a_list(listed):
    assert read_windows(listed) == {"a": 4000, "b": 32_768, "c": 2000, "gpt-4": 2000}


@pytest.mark.parametrize("listed", [None, 7, {}, {"data": None}, {"data": "x"}, []])
def test_a_list_that_is_none_tells_nothing(listed):
    assert read_windows(listed) == {}


def lists_asked(upstream) -> int:
    return sum(path == "/v1/models" for path, _, _ in upstream.asked)


def test_a_window_is_asked_for_once_and_only_if_it_is_needed(upstream, proxy):
    upstream.answer = lambda path, body: json.dumps(LISTED)
    running = proxy(max_tokens=3000, context_window=0)

    def allowed(model, **more):
        return running.ask(talk(2), {"Authorization": "Bearer k"}, model=model, **more).headers[
            "x-eunoe-tokens-allowed"
        ]

    assert (allowed("a", num_ctx=1000), lists_asked(upstream)) == ("900", 0)
    assert (allowed("c"), lists_asked(upstream)) == ("1800", 1)
    assert (allowed("a"), allowed("b"), allowed("unknown")) == ("3000", "3000", "3000")
    assert (allowed("gpt-4"), allowed("gpt-4o")) == ("1800", "3000")  # listed; known by name alone
    assert lists_asked(upstream) == 1
    [headers] = [got for path, got, _ in upstream.asked if path == "/v1/models"]
    assert headers["authorization"] == "Bearer k"


def test_a_window_that_the_operator_knows_is_not_asked_for(upstream, proxy):
    assert proxy(context_window=1000).ask(talk(1), model="m").headers["x-eunoe-tokens-allowed"] == (
        "900"
    )
    assert lists_asked(upstream) == 0


def test_many_at_once_ask_once(upstream, proxy):
    upstream.answer = lambda path, body: json.dumps(LISTED)
    running = proxy(context_window=0)
    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda _: running.ask(talk(1), model="c"), range(20)))
    assert {a.headers["x-eunoe-tokens-allowed"] for a in answers} == {"1800"}
    assert lists_asked(upstream) == 1


@pytest.mark.parametrize("listed", ["no json", '{"data": 7}', "[" * 100_000])
def test_a_list_that_cannot_be_read_changes_nothing(upstream, proxy, listed):
    upstream.answer = lambda path, body: listed if body is None else "{}"
    answer = proxy(max_tokens=500, context_window=0).ask(talk(20), model="m")
    assert answer.headers["x-eunoe-outcome"] == "fitted"
    assert answer.headers["x-eunoe-tokens-allowed"] == "500"


def test_a_list_that_does_not_come_is_not_waited_for(upstream, proxy):
    go_on = threading.Event()

    def answer(path, body):
        if body is None:
            go_on.wait(10)
        return "{}"

    upstream.answer = answer
    head = proxy(max_tokens=500, deadline=4.0, context_window=0).ask(talk(20), model="m").headers
    go_on.set()
    assert (head["x-eunoe-outcome"], head["x-eunoe-tokens-allowed"]) == ("fitted", "500")


class Clock:
    """Time that stands still unless told."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


async def test_when_the_list_is_asked_for_again_and_what_stays_known(upstream):
    clock = Clock()
    behind = Upstream(ProxySettings(upstream=upstream.url))
    windows = WindowList(behind, 5.0, clock)
    upstream.statuses = [500]
    upstream.answer = json.dumps({"data": [{"id": "a", "max_model_len": 4000}]})
    assert (await windows.find("a", ""), lists_asked(upstream)) == (0, 1)
    assert (await windows.find("a", ""), lists_asked(upstream)) == (0, 1)
    clock.now += 15
    assert (await windows.find("a", ""), lists_asked(upstream)) == (4000, 2)
    assert (await windows.find("b", ""), lists_asked(upstream)) == (0, 2)
    clock.now += 300
    upstream.statuses = [401]
    assert (await windows.find("b", "Bearer wrong"), lists_asked(upstream)) == (0, 3)
    clock.now += 15
    upstream.answer = json.dumps({"data": [{"id": "b", "max_model_len": 1000}]})
    assert (await windows.find("b", ""), lists_asked(upstream)) == (1000, 4)
    assert (await windows.find("a", ""), lists_asked(upstream)) == (4000, 4)
    clock.now += 300  # loaded anew: asked behind a request, and one for all of them
    upstream.answer = json.dumps({"data": [{"id": "a", "max_model_len": 2000}]})
    assert [await windows.find("a", "") for _ in range(3)] == [4000, 4000, 4000]
    for _ in range(1000):
        if await windows.find("a", "") == 2000:
            break
        await asyncio.sleep(0.01)
    assert (await windows.find("a", ""), lists_asked(upstream)) == (2000, 5)
    await behind.close()
