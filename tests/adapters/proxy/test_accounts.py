from __future__ import annotations

import contextlib
import json
import re

import httpx
import pytest

from eunoe.stages.accounting.ledger import Ledger
from eunoe_backends import InMemoryLedgerStore, JsonLinesLedgerStore
from proxied import DONE, delta, event, talk


def usage(prompt: int, cached: int = 0) -> dict:
    return {
        "prompt_tokens": prompt,
        "completion_tokens": 5,
        "prompt_tokens_details": {"cached_tokens": cached},
    }


def answered(prompt: int = 500, cached: int = 0) -> str:
    choices = [{"message": {"role": "assistant", "content": "ok"}}]
    return json.dumps({"choices": choices, "usage": usage(prompt, cached)})


def test_an_answer_is_entered_with_its_usage(upstream, proxy, tmp_path):
    upstream.answer = answered(900, 300)
    file = tmp_path / "ledger.jsonl"
    running = proxy(max_tokens=1500, ledger=str(file))
    running.ask(talk(30), {"X-Eunoe-Session": "sess-1"})
    running.wait_for('eunoe_requests_total{outcome="answered"}', 1)
    entry = JsonLinesLedgerStore(file).of("sess-1")
    assert (entry.is_measured, entry.total.sent.requests) == (True, 1)
    assert (entry.total.sent.prompt, entry.total.sent.cached) == (900, 300)
    assert entry.total.untouched.prompt > entry.total.sent.prompt
    assert "word" not in file.read_text()
    assert running.metric('eunoe_tokens_cached_total{model="gpt-4o"}') == 300
    before = running.metric('eunoe_tokens_before_total{model="gpt-4o"}')
    assert before > running.metric('eunoe_tokens_after_total{model="gpt-4o"}') > 0
    assert running.metric("eunoe_choosing_milliseconds_count") == 1


@pytest.mark.parametrize("broken", [False, True])
def test_the_usage_of_a_stream_is_read_from_its_last_piece(upstream, proxy, broken):
    last = event(choices=[], usage=usage(321)) + DONE
    halves = [last[:30], last[30:]] if broken else [last]
    upstream.pieces = lambda body: iter([delta("a"), *halves])
    keeper = InMemoryLedgerStore()
    running = proxy(keeper=keeper)
    running.ask(talk(5), {"X-Eunoe-Session": "s"}, stream=True)
    running.wait_for('eunoe_requests_total{outcome="answered"}', 1)
    assert keeper.of("s").total.sent.prompt == 321
    assert "stream_options" not in upstream.asked[0][2]


def test_a_host_that_changes_the_prompt_costs_an_untouched_chat_as_much(upstream, proxy):
    upstream.answer = json.dumps({"choices": [{"message": {"content": "ok"}}]})
    keeper = InMemoryLedgerStore()
    running = proxy(keeper=keeper)
    for minute in range(4):
        clock = {"role": "system", "content": f"It is 12:0{minute}."}
        running.ask([clock, *talk(30 + minute)[1:]], {"X-Eunoe-Session": "s"})
        running.wait_for('eunoe_requests_total{outcome="answered"}', minute + 1)
    total = keeper.of("s").total
    assert total.sent.requests == 4
    assert total.sent.cost > 0
    assert total.sent == total.untouched == total.window


def test_usage_is_asked_for_where_the_operator_wants(upstream, proxy):
    running = proxy(ask_usage=True)
    running.ask(talk(1), stream=True)
    running.ask(talk(1), stream=True, stream_options={"include_usage": False})
    running.ask(talk(1))
    asked = [body.get("stream_options") for _, _, body in upstream.asked]
    assert asked == [{"include_usage": True}, {"include_usage": False}, None]


def test_without_usage_an_answer_is_estimated(upstream, proxy):
    keeper = InMemoryLedgerStore()
    running = proxy(keeper=keeper)
    running.ask(talk(5))
    running.wait_for('eunoe_requests_total{outcome="answered"}', 1)
    [(name, entry)] = keeper.chats().items()
    assert name.startswith("chat-")
    assert entry.estimated.sent.requests == 1


@pytest.mark.parametrize(
    ("status", "answer", "pieces"),
    [
        (500, None, None),
        (429, None, None),
        (200, '{"error": {"message": "no"}}', None),
        (200, None, [delta("a"), event(error={"message": "no"})]),
        (200, None, [delta("a"), b""]),
    ],
)
def test_nothing_is_entered_when_the_server_failed(upstream, proxy, status, answer, pieces):
    upstream.statuses, upstream.answer = [status], answer
    upstream.pieces = (lambda body: iter(pieces)) if pieces else None
    keeper = InMemoryLedgerStore()
    running = proxy(keeper=keeper)
    with contextlib.suppress(httpx.RemoteProtocolError):
        running.ask(talk(5), stream=bool(pieces))
    outcome = "refused" if status != 200 else "failed"
    running.wait_for(f'eunoe_requests_total{{outcome="{outcome}"}}', 1)
    assert keeper.total() == Ledger()


def test_counts_are_corrected_by_what_a_model_reports(upstream, proxy):
    running = proxy(max_tokens=1500)
    first = running.ask(talk(40), max_tokens=1).headers
    counted = int(first["x-eunoe-tokens-after"])
    upstream.answer = answered(round(counted * 1.5))
    for number in range(3):
        running.ask(talk(40), max_tokens=1)
        running.wait_for('eunoe_requests_total{outcome="answered"}', number + 2)
    corrected = running.ask(talk(40), max_tokens=1).headers
    assert int(corrected["x-eunoe-tokens-after"]) * 1.5 <= 1500
    other = running.ask(talk(40), max_tokens=1, model="gpt-4.1").headers
    assert other["x-eunoe-tokens-allowed"] == "1499"


def test_the_same_chat_has_the_same_session_while_it_grows(proxy):
    keeper = InMemoryLedgerStore()
    running = proxy(keeper=keeper)
    for number, turns in enumerate((1, 2, 3)):
        running.ask(talk(turns))
        running.wait_for('eunoe_requests_total{outcome="answered"}', number + 1)
    assert [ledger.total.sent.requests for ledger in keeper.chats().values()] == [3]


def test_a_session_is_told_why_its_cache_is_lost(proxy):
    running = proxy()
    first, other = talk(20), talk(20)
    other[0] = {"role": "system", "content": "Be brief. It is noon."}

    def lost(messages, session, key):
        headers = {"X-Eunoe-Session": session, "Authorization": key}
        return running.ask(messages, headers).headers.get("x-eunoe-cache-lost")

    assert lost(first, "s", "one") is None
    assert lost([*first, *talk(1)[1:]], "s", "one") is None
    assert lost(other, "s", "two") is None  # another caller's
    assert lost(other, "t", "one") is None
    assert lost(other, "s", "one") == "the system prompt changed at byte 9"
    assert "x-eunoe-cache-lost" not in running.ask(first).headers


def test_a_line_for_each_request_has_figures_and_no_text(upstream, proxy, caplog):
    caplog.set_level("INFO", logger="eunoe")
    running = proxy(max_tokens=1500)
    upstream.answer = answered(900, 300)
    for messages, more in (
        (talk(1), {}),
        (talk(30), {}),
        (talk(30), {"model": "odd\nmodel" + "x" * 99}),
        ([], {}),
    ):
        running.ask(messages, **more)
    running.wait_for('eunoe_requests_total{outcome="answered"}', 4)
    upstream.statuses = [429]
    running.ask(talk(1))
    running.wait_for('eunoe_requests_total{outcome="refused"}', 1)
    lines = sorted(record.getMessage() for record in caplog.records if record.name == "eunoe")
    whole = "\n".join(re.sub(r"chosen in \d+ ms", "chosen", line) for line in lines)
    assert re.fullmatch(
        r"gpt-4o: 1\d\d tokens, as they came, 300 from the cache, \$0.0019; status 200; chosen\n"
        r"gpt-4o: 1\d\d tokens, as they came; status 429; chosen\n"
        r"gpt-4o: 2,\d\d\d -> 1?,?\d\d\d tokens, 300 from the cache, \$0.0019; status 200; chosen\n"
        r"no model: untouched \(not a chat\); status 200\n"
        r"oddmodelx{52}: 2,\d\d\d -> 1?,?\d\d\d tokens, 300 from the cache; status 200; chosen",
        whole,
    ), whole
    assert "word" not in whole


def test_the_time_that_a_local_cache_saves_is_told(upstream, proxy, caplog):
    choices = [{"message": {"role": "assistant", "content": "ok"}}]
    timings = {"cache_n": 2000, "prompt_n": 1000, "prompt_ms": 4000.0}
    upstream.answer = json.dumps({"choices": choices, "timings": timings})
    caplog.set_level("INFO", logger="eunoe")
    running = proxy()
    for number in (1, 2):
        running.ask(talk(30), model="local")
        running.wait_for('eunoe_requests_total{outcome="answered"}', number)
    assert running.metric('eunoe_seconds_saved_total{model="local"}') == 16  # 4 ms for each token
    assert "2,000 from the cache, saved ≈8.0 s;" in caplog.text


def test_a_server_without_timings_saves_no_seconds(upstream, proxy):
    upstream.answer = answered(900, 300)
    running = proxy()
    running.ask(talk(30))
    running.wait_for('eunoe_requests_total{outcome="answered"}', 1)
    assert "eunoe_seconds_saved_total{" not in running.client.get("/metrics").text


def test_own_prices_count_in_the_ledger(upstream, proxy, tmp_path):
    file = tmp_path / "prices.json"
    file.write_text(json.dumps({"models": {"mine": {"input": 1000, "output": 0}}}))
    upstream.answer = answered(900)
    keeper = InMemoryLedgerStore()
    running = proxy(keeper=keeper, price_file=str(file))
    for number, model in enumerate(("mine", "unknown-7"), 1):
        running.ask(talk(30), {"X-Eunoe-Session": model}, model=model)
        running.wait_for('eunoe_requests_total{outcome="answered"}', number)
    assert keeper.of("mine").total.sent.cost_usd == pytest.approx(0.9)
    assert keeper.of("unknown-7").total.sent.unpriced == 1
