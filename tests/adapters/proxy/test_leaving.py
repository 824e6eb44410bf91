from __future__ import annotations

import socket
import threading
import time

import httpx
import pytest

from proxied import DONE, delta, talk

CHAT = "/v1/chat/completions"


def test_a_caller_that_leaves_ends_the_request_behind(upstream, proxy):
    running = proxy()

    def pieces(body):
        while True:
            yield delta("more")
            time.sleep(0.02)

    upstream.pieces = pieces
    body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "Hi"}]}
    with running.client.stream("POST", CHAT, json=body) as answer:
        next(answer.iter_raw())
    assert upstream.left.wait(10)
    running.wait_for('eunoe_requests_total{outcome="left"}', 1)
    running.wait_for('eunoe_failures_total{kind="client_left"}', 1)


def test_a_caller_that_leaves_after_the_last_piece_was_answered(upstream, proxy):
    ended = threading.Event()

    def pieces(body):
        yield delta("a")
        yield DONE
        ended.wait(10)

    upstream.pieces = pieces
    running = proxy()
    body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "Hi"}]}
    with running.client.stream("POST", CHAT, json=body) as answer:
        for part in answer.iter_raw():
            if part.endswith(DONE):
                break
    running.wait_for('eunoe_requests_total{outcome="answered"}', 1)
    running.wait_for('eunoe_failures_total{kind="client_left"}', 0)
    ended.set()


def test_a_caller_that_leaves_before_the_answer_ends_the_request_behind(proxy):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(10)
        running = proxy(upstream=f"http://127.0.0.1:{silent.getsockname()[1]}/v1")
        with pytest.raises(httpx.ReadTimeout):
            running.client.post(
                CHAT, json={"messages": [{"role": "user", "content": "Hi"}]}, timeout=0.5
            )
        taken, _ = silent.accept()
        with taken:
            taken.settimeout(10)
            while taken.recv(4096):
                pass  # until the proxy closes it
    running.wait_for('eunoe_requests_total{outcome="left"}', 1)


@pytest.mark.parametrize("path", [CHAT, "/v1/files"])
def test_a_caller_that_leaves_in_the_middle_of_its_body(upstream, proxy, path):
    running = proxy()
    host, port = running.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=10) as plain:
        head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n"
        plain.sendall(head.encode() + b'{"messages":')
        time.sleep(0.3)
    running.wait_for('eunoe_failures_total{kind="client_left"}', 1)
    assert upstream.raw in ([], [b'{"messages":'])


def test_a_caller_that_leaves_while_we_choose_asks_nobody(upstream, proxy, monkeypatch):
    running = proxy()
    began, go_on = threading.Event(), threading.Event()

    def choose(*args, **more):
        began.set()
        assert go_on.wait(10)
        assert more["expired"]()  # the work is told that nobody waits

    monkeypatch.setattr("eunoe.pipeline.orchestrator.ContextOrchestrator.process_sync", choose)
    with pytest.raises(httpx.ReadTimeout):
        running.client.post(CHAT, json={"messages": talk(2)}, timeout=0.5)
    assert began.wait(10)
    running.wait_for('eunoe_requests_total{outcome="left"}', 1)
    go_on.set()
    assert upstream.asked == []
