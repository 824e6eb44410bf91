"""What is not let through, and who may use the operator's key."""

from __future__ import annotations

import json
import socket

import pytest

from eunoe_web.pages import is_foreign_page
from proxied import talk


def bare(running, method, path, *headers):
    """A request as it is written here, without a client that would mend it: status and body."""
    host, port = running.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=10) as plain:
        lines = [f"{method} {path} HTTP/1.1", *headers, "Connection: close", "", ""]
        plain.sendall("\r\n".join(lines).encode())
        head, _, body = b"".join(iter(lambda: plain.recv(4096), b"")).partition(b"\r\n\r\n")
    return int(head.split()[1]), body


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/chat/completions",
        "/v2/models",
        "/v1",
        "/v1/../admin",
        "/v1/%2e%2e/admin",
        "/v1/..;a=b/admin",
        "/v1/a\\..\\..\\admin",
        "http://other.example/v1/models",
        "//other.example/v1/models",
    ],
)
def test_paths_that_are_not_of_the_server_are_not_asked(upstream, proxy, path):
    status, body = bare(proxy(), "GET", path, "Host: x")
    assert (status, json.loads(body)["error"]["code"]) == (404, "not_found")
    assert upstream.asked == []


@pytest.mark.parametrize(
    ("path", "sent"),
    [
        ("/v1/models#part", "/v1/models%23part"),
        ("/v1/models?a=#part", "/v1/models?a=%23part"),
        ("/v1/models/a%2Fb%23;c", "/v1/models/a%2Fb%23;c"),
    ],
)
def test_what_no_request_may_hold_is_quoted(upstream, proxy, path, sent):
    assert bare(proxy(), "GET", path, "Host: x")[0] == 200
    assert [got for got, _, _ in upstream.asked] == [sent]


def test_a_path_too_long_for_anybody_is_no_fault(upstream, proxy):
    running = proxy()
    status, body = bare(running, "GET", "/v1/" + "a" * 66_000, "Host: x")
    if status != 400:  # which servers in between may answer themselves
        assert (status, json.loads(body)["error"]["code"]) == (502, "upstream_unreachable")
    assert running.metric('eunoe_failures_total{kind="fault"}') == 0


@pytest.mark.parametrize(
    ("origin", "foreign"),
    [
        ("", False),
        ("https://evil.example", True),
        ("http://evil.example:8787", True),
        ("null", True),
        ("http://[broken", True),
        ("http://localhost:3000", False),
        ("http://127.0.0.1:8787", False),
        ("http://[::1]:1", False),
        ("vscode-webview://abc", False),
        ("app://obsidian.md", False),
    ],
)
def test_pages_of_websites_are_foreign(origin, foreign):
    assert is_foreign_page(origin) is foreign


def test_a_page_may_not_use_the_operators_key(upstream, proxy):
    page = {"Origin": "https://evil.example"}
    refused = proxy(api_key="sk-operator").ask(talk(1), page)
    assert refused.status_code == 403
    assert refused.json()["error"]["code"] == "foreign_page"
    assert upstream.asked == []
    assert proxy().ask(talk(1), page).status_code == 200  # by a key of its own


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:8787", 200),
        ("[::1]:8787", 200),
        ("localhost", 200),
        ("eunoe:8787", 200),
        ("box.local", 200),
        ("llm.example", 200),
        ("evil.example:8787", 403),
        ("local.evil.example", 403),
        ("[broken", 403),
    ],
)
def test_a_name_of_a_website_may_not_use_the_operators_key(upstream, proxy, host, status):
    guarded = proxy(api_key="sk-operator", hosts=("LLM.example",))
    assert bare(guarded, "GET", "/v1/files", f"Host: {host}")[0] == status
    assert len(upstream.asked) == (status == 200)
    assert bare(proxy(), "GET", "/v1/files", f"Host: {host}")[0] == 200  # by a key of its own


def test_the_operators_key_is_not_sent_back(upstream, proxy):
    status, body = bare(proxy(api_key="sk-operator"), "TRACE", "/v1/models", "Host: x")
    assert (status, json.loads(body)["error"]["code"]) == (405, "method_not_allowed")
    assert upstream.asked == []
