from __future__ import annotations

import gzip
import json
import socket
import threading

import httpx
import pytest

from eunoe_proxy import create_app
from proxied import DONE, delta, event, talk

CHAT = "/v1/chat/completions"


def test_an_answer_comes_back_as_it_is(upstream, proxy):
    text = '{"choices": [ {"message": {"content": "é"}}],\n "odd": 1e400}'
    upstream.answer = text
    upstream.headers |= {"X-Request-Id": "r-1", "Openai-Processing-Ms": "7"}
    answer = proxy().ask([{"role": "user", "content": "Hi"}])
    assert answer.content == text.encode()
    assert answer.headers["x-request-id"] == "r-1"
    assert answer.headers["openai-processing-ms"] == "7"
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers.get_list("server") == answer.headers.get_list("server")[:1]
    assert answer.headers["x-eunoe-outcome"] == "same"


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b'{ "model":"m","messages":[ {"role":"user","content":"Hi"} ] }', id="blanks"),
        pytest.param(
            b'{"messages":[{"role":"user","content":"\\u00e9"}],"n":1.0,"big":1e400}',
            id="numbers and escapes",
        ),
        pytest.param(
            b'{"messages":[{"role":"user","content":"Hi","odd":[1,{"a":null}]}],"x":{"y":1}}',
            id="unknown fields",
        ),
        pytest.param(b"no json", id="no JSON"),
        pytest.param(b"", id="nothing"),
        pytest.param(b'{"model":"m"}', id="no messages"),
        pytest.param(b'{"messages":[]}', id="empty messages"),
        pytest.param(b'{"messages":"Hi"}', id="messages of another kind"),
        pytest.param(b'{"messages":["Hi"]}', id="a message of another kind"),
        pytest.param(b'{"messages":[{"role":"user","content":"Hi"},]}', id="a comma too many"),
        pytest.param(b'{"messages":[{"role":7,"content":"Hi"}]}', id="a role of another kind"),
        pytest.param(
            b'{"messages":[{"role":"user","content":"Hi"},{"type":"reasoning","summary":[]}]}',
            id="an item that is no message",
        ),
        pytest.param(b'{"messages":[{"role":"user","content":"\xff"}]}', id="no UTF-8"),
        pytest.param(b'{"messages":' + b"[" * 100_000, id="deep"),
        pytest.param(
            b'{"messages":[{"role":"user","content":"a"}],"messages":[]}', id="messages twice"
        ),
    ],
)
def test_a_body_that_needs_nothing_goes_through_byte_for_byte(upstream, proxy, body):
    answer = proxy(max_tokens=8000).client.post(CHAT, content=body)
    assert answer.status_code == 200
    assert upstream.raw == [body]


def test_headers_of_the_caller_go_through_and_ours_do_not(upstream, proxy):
    headers = {
        "Authorization": "Bearer own",
        "X-Custom": "1",
        "X-Eunoe-Session": "s",
        "X-Eunoe-Anything": "x",
        "Connection": "close, X-Near",
        "X-Near": "1",
    }
    proxy().ask([{"role": "user", "content": "Hi"}], headers)
    [(_, got, _)] = upstream.asked
    names = {name.lower(): value for name, value in got.items()}
    assert names["authorization"] == "Bearer own"
    assert names["x-custom"] == "1"
    assert names["host"] == upstream.url.split("/")[2]
    assert not {name for name in names if name.startswith("x-eunoe") or name == "x-near"}


def test_a_key_of_the_operator_replaces_the_callers(upstream, proxy):
    running = proxy(api_key="sk-operator")
    running.ask([{"role": "user", "content": "Hi"}], {"Authorization": "Bearer own"})
    running.client.get("/v1/models")
    assert [got["authorization"] for _, got, _ in upstream.asked] == ["Bearer sk-operator"] * 2


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/v1/models", None),
        ("GET", "/v1/models/a%2Fb?x=1&y=%20", None),
        ("GET", "/v1/chat/completions?limit=3", None),
        ("POST", "/v1/embeddings", b'{"input": ["a"], "odd": 1.0}'),
        ("POST", "/v1/responses", b'{"input": "Hi"}'),
        ("POST", "/v1/audio", b"\x00\xff not json"),
    ],
)
def test_other_paths_go_through_untouched(upstream, proxy, method, path, body):
    upstream.answer = "[1 ,2]"
    running = proxy(max_tokens=10)
    answer = running.client.request(method, path, content=body)
    assert (answer.status_code, answer.content) == (200, b"[1 ,2]")
    [(got, headers, _)] = upstream.asked
    assert got == path
    assert upstream.raw == ([] if body is None else [body])
    assert "transfer-encoding" not in {name.lower() for name in headers}
    assert not [name for name in answer.headers if name.startswith("x-eunoe")]
    running.wait_for("eunoe_passed_total", 1)


def test_health_asks_nobody(upstream, proxy):
    answer = proxy().client.get("/health")
    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})
    assert upstream.asked == []


def test_a_stream_is_passed_on_piece_by_piece(upstream, proxy):
    go_on = threading.Event()

    def pieces(body):
        yield delta("first")
        assert go_on.wait(10)
        yield delta("second")
        yield DONE

    upstream.pieces = pieces
    body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "Hi"}]}
    with proxy().client.stream("POST", CHAT, json=body) as answer:
        assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
        parts = answer.iter_raw()
        assert next(parts) == delta("first")  # while the server still holds the rest
        go_on.set()
        assert b"".join(parts) == delta("second") + DONE


async def test_it_may_be_mounted_below_another_path(upstream):
    app = create_app(upstream.url)

    async def mounted(scope, receive, send):
        await app({**scope, "root_path": "/l m"}, receive, send)

    transport = httpx.ASGITransport(app=mounted)
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
        answer = await client.get("/l%20m/v1/models/a%2Fb?x=1")
    await app.close()
    assert answer.status_code == 200
    assert [path for path, _, _ in upstream.asked] == ["/v1/models/a%2Fb?x=1"]


@pytest.mark.parametrize("place", ["eunoe_proxy.app.read_wishes", "eunoe_proxy.app.pass_on"])
def test_a_fault_that_nobody_foresaw_is_an_error_without_its_words(
    upstream, proxy, monkeypatch, caplog, place
):
    running = proxy()

    def fail(*args, **more):
        raise KeyError("halcyon")

    monkeypatch.setattr(place, fail)
    answer = running.ask(talk(1))
    assert (answer.status_code, answer.json()["error"]["code"]) == (500, "internal_error")
    assert "KeyError" in caplog.text
    assert "halcyon" not in caplog.text + answer.text
    running.wait_for('eunoe_failures_total{kind="fault"}', 1)


@pytest.mark.parametrize(("status", "kind"), [(401, "4xx"), (429, "4xx"), (500, "5xx")])
@pytest.mark.parametrize("stream", [False, True])
def test_errors_of_the_server_come_back_unchanged(upstream, proxy, status, kind, stream):
    upstream.statuses = [status]
    upstream.headers["Retry-After"] = "7"
    running = proxy()
    answer = running.ask(
        [{"role": "user", "content": "Hi"}], {"Authorization": "Bearer k"}, stream=stream
    )
    assert (answer.status_code, answer.content) == (status, b"wrong: Bearer k")
    assert answer.headers["retry-after"] == "7"
    running.wait_for(f'eunoe_failures_total{{kind="upstream_{kind}"}}', 1)
    running.wait_for('eunoe_requests_total{outcome="refused"}', 1)


def test_a_server_that_is_not_there_is_502(proxy):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    running = proxy(upstream=f"http://127.0.0.1:{port}/v1")
    for answer in (running.ask(talk(2)), running.client.get("/v1/models")):
        assert answer.status_code == 502
        assert answer.json()["error"]["code"] == "upstream_unreachable"
    running.wait_for('eunoe_failures_total{kind="upstream_unreachable"}', 2)
    running.wait_for('eunoe_requests_total{outcome="failed"}', 1)


def test_a_server_that_is_silent_is_504(upstream, proxy):
    upstream.delay = 1.5
    running = proxy(timeout=0.2)
    answer = running.ask(talk(2))
    assert answer.status_code == 504
    assert answer.json()["error"]["code"] == "upstream_timeout"
    running.wait_for('eunoe_failures_total{kind="upstream_timeout"}', 1)


def test_an_answer_that_breaks_off_is_not_made_whole(upstream, proxy):
    upstream.pieces = lambda body: iter([delta("half"), b""])
    running = proxy()
    with pytest.raises(httpx.RemoteProtocolError):
        running.ask([{"role": "user", "content": "Hi"}], stream=True)
    running.wait_for('eunoe_failures_total{kind="upstream_broken"}', 1)
    running.wait_for('eunoe_requests_total{outcome="failed"}', 1)


def test_a_packed_answer_stays_packed(upstream, proxy):
    usage = event(choices=[], usage={"prompt_tokens": 70, "prompt_tokens_details": {}})
    packed = gzip.compress(delta("é") + usage + DONE)
    upstream.headers["Content-Encoding"] = "gzip"
    upstream.pieces = lambda body: iter([packed[:20], packed[20:]])
    running = proxy()
    body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "Hi"}]}
    headers = {"Accept-Encoding": "br, gzip;q=0.5"}
    with running.client.stream("POST", CHAT, json=body, headers=headers) as answer:
        assert b"".join(answer.iter_raw()) == packed
    assert upstream.asked[-1][1]["accept-encoding"] == "gzip;q=0.5"


def test_a_request_in_pieces_is_read_whole(upstream, proxy):
    body = json.dumps({"messages": [{"role": "user", "content": "Hi"}]}).encode()
    answer = proxy().client.post(CHAT, content=iter([body[:9], body[9:]]))
    assert answer.status_code == 200
    assert upstream.raw == [body]


def test_a_body_too_large_to_read_goes_through(upstream, proxy):
    messages = talk(30)
    running = proxy(max_tokens=300, largest_body=2000)
    answer = running.ask(messages)
    assert answer.headers["x-eunoe-outcome"] == "untouched"
    assert answer.headers["x-eunoe-reason"] == "too large"
    assert upstream.asked[0][2]["messages"] == messages
    running.wait_for('eunoe_failures_total{kind="too_large"}', 1)
