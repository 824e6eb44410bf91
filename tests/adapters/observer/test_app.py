"""The page's server on a real socket."""

from __future__ import annotations

import json
import re
import socket
import threading
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from eunoe_backends import RemoteObserver
from eunoe_backends.event_record import event_record
from eunoe_observer import EventLog, ObserverApp
from eunoe_observer.page import page_bytes, page_policy
from eunoe_web.asgi import Mounted
from events import SECRET, event_of
from served import running_app

RECORD = event_record(event_of(2))


class Running:
    """A log, its server and a client."""

    def __init__(self, log: EventLog, app: ObserverApp, url: str) -> None:
        self.log, self.app, self.url = log, app, url
        self.client = httpx.Client(base_url=url, timeout=10.0, trust_env=False)

    def stream(self, **headers: str) -> Any:
        return self.client.stream("GET", "/stream", headers=headers)


@pytest.fixture
def page() -> Iterator[Running]:
    pytest.importorskip("uvicorn")
    log = EventLog()
    app = ObserverApp(log)
    with running_app(app) as url:
        running = Running(log, app, url)
        yield running
        running.client.close()


def pieces(answer: Any) -> Iterator[tuple[str, Any]]:
    """(id, data) of each event of a stream."""
    name = ""
    for line in answer.iter_lines():
        if line.startswith("id: "):
            name = line[4:]
        elif line.startswith("data: "):
            yield name, json.loads(line[6:])


def test_the_page_needs_nothing_from_elsewhere(page: Running) -> None:
    answer = page.client.get("/")
    assert answer.status_code == 200
    assert answer.content == page_bytes()
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["content-security-policy"] == page_policy()
    assert "default-src 'none'" in page_policy()
    assert "unsafe" not in page_policy()
    text = answer.text
    assert re.findall(r"(?:src|href)=\"(?!data:)[^\"]*\"|url\(|@import|//[a-z]+\.[a-z]", text) == []
    assert not re.search(r"<[^>]+ (style|on\w+)=", text)  # the policy would refuse them
    assert "innerHTML" not in text
    assert page.client.head("/").headers["content-length"] == str(len(page_bytes()))


def test_a_request_is_seen_in_the_snapshot_and_in_detail(page: Running) -> None:
    remote = RemoteObserver(page.url)
    for turns in (2, 40):
        remote.observe(event_of(turns))
    assert remote.drain()
    assert remote.lost == 0
    news = page.client.get("/events").json()
    assert [row["messages"] for row in news["events"]] == [8, 84]
    assert news["totals"]["requests"] == 2
    details = page.client.get("/events/2").json()
    assert details["fates"].count("d") > 0
    assert SECRET not in page.client.get("/events").text + json.dumps(details)


def test_a_chain_of_langchain_is_seen(page: Running) -> None:
    messages = pytest.importorskip("langchain_core.messages")
    from eunoe_langchain import HistoryOptimizer

    remote = RemoteObserver(page.url)
    optimizer = HistoryOptimizer(max_tokens=800, observer=remote, model_id="gpt-4o")
    chat = [messages.HumanMessage(f"{SECRET} {turn} " + "word " * 80) for turn in range(20)]
    optimizer.invoke(chat, {"configurable": {"thread_id": "t"}})
    assert remote.drain()
    [row] = page.client.get("/events").json()["events"]
    assert (row["source"], row["session"], row["messages"]) == ("LangChain", "t", 20)
    details = page.client.get("/events/1")
    assert sum(details.json()["parts"].values()) == row["after"]
    assert SECRET not in details.text


def test_the_stream_tells_all_and_then_what_changes(page: Running) -> None:
    page.log.enter(RECORD)
    with page.stream() as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        told = pieces(answer)
        name, news = next(told)
        assert [row["n"] for row in news["events"]] == [1]
        page.log.enter({**RECORD, "model": "other"})
        later, news = next(told)
        assert [(row["n"], row["model"]) for row in news["events"]] == [(2, "other")]
        assert news["totals"]["requests"] == 2
    page.log.enter(RECORD)
    with page.stream(**{"Last-Event-ID": later}) as answer:  # as a browser does
        assert [row["n"] for row in next(pieces(answer))[1]["events"]] == [3]
    with page.stream(**{"Last-Event-ID": "another-7"}) as answer:
        assert [row["n"] for row in next(pieces(answer))[1]["events"]] == [1, 2, 3]
    assert name.startswith(f"{page.log.name}-")


def test_what_happens_at_once_comes_in_few_pieces(page: Running) -> None:
    with page.stream() as answer:
        told = pieces(answer)
        next(told)
        for _ in range(200):
            page.log.enter(RECORD)
        seen, number = 0, 0
        while seen < 200:
            seen += len(next(told)[1]["events"])
            number += 1
    assert number <= 20


def test_who_leaves_is_forgotten(page: Running) -> None:
    with page.stream() as answer:
        next(pieces(answer))
        assert len(page.app._streams) == 1
    for _ in range(200):
        if not page.app._streams:
            break
        threading.Event().wait(0.02)
    assert not page.app._streams
    assert not page.log._listeners


def test_one_too_many_watchers_are_turned_away(
    page: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("eunoe_observer.app.MOST_STREAMS", 1)
    with page.stream() as answer:
        next(pieces(answer))
        assert page.client.get("/stream").status_code == 503


@pytest.mark.parametrize(
    ("method", "path", "headers", "body", "status"),
    [
        ("GET", "/events", {"Host": "evil.example"}, b"", 403),
        ("GET", "/", {"Host": "evil.example:8788"}, b"", 403),
        ("GET", "/stream", {"Host": "evil.example"}, b"", 403),
        ("GET", "/events", {"Origin": "http://evil.example"}, b"", 403),
        ("GET", "/events/1", {"Origin": "null"}, b"", 403),
        ("GET", "/stream", {"Sec-Fetch-Site": "cross-site"}, b"", 403),
        ("GET", "/events", {"Sec-Fetch-Site": "same-site"}, b"", 403),
        ("GET", "/", {"Sec-Fetch-Site": "cross-site"}, b"", 200),  # a link to the page
        ("POST", "/events", {"Origin": "http://evil.example"}, b"[]", 403),
        ("POST", "/events", {"Content-Type": "text/plain"}, b"[]", 415),
        ("POST", "/events", {}, b"[]", 204),
        ("POST", "/events", {}, b"{}", 400),
        ("POST", "/events", {}, b"\xff", 400),
        ("POST", "/events", {}, b"[" * 200_000, 400),
        ("POST", "/events", {}, b" " * 8_000_001, 413),
        ("PUT", "/events", {}, b"[]", 405),
        ("POST", "/", {}, b"[]", 405),
        ("DELETE", "/events/1", {}, b"", 405),
        ("OPTIONS", "/events", {}, b"", 405),
        ("GET", "/events/2", {}, b"", 404),
        ("GET", "/events/" + "9" * 4000, {}, b"", 404),
        ("GET", "/events/-1", {}, b"", 404),
        ("GET", "/page.html", {}, b"", 404),
    ],
)
def test_who_may_do_what(
    page: Running, method: str, path: str, headers: dict[str, str], body: bytes, status: int
) -> None:
    page.log.enter(RECORD)
    given = {"Content-Type": "application/json", **headers}
    answer = page.client.request(method, path, headers=given, content=body)
    assert answer.status_code == status
    assert "access-control-allow-origin" not in answer.headers
    assert answer.headers["cross-origin-resource-policy"] == "same-origin"
    assert page.log.news()["version"] == 1
    if status >= 400:
        assert answer.json()["error"]["message"].startswith("eunoe observe: ")


def test_our_own_page_may_send_and_read(page: Running) -> None:
    headers = {"Origin": page.url, "Sec-Fetch-Site": "same-origin"}
    assert page.client.post("/events", json=RECORD, headers=headers).status_code == 204
    assert page.client.get("/events", headers=headers).json()["totals"]["requests"] == 1


def test_a_name_may_be_allowed() -> None:
    pytest.importorskip("uvicorn")
    with running_app(ObserverApp(EventLog(), names=["Watch.Office"])) as url:
        for name, status in (("watch.office:80", 200), ("other.office", 403)):
            assert httpx.get(f"{url}/events", headers={"Host": name}).status_code == status


def test_below_another_application_its_links_hold() -> None:
    pytest.importorskip("uvicorn")
    log = EventLog()
    inner = ObserverApp(log)
    app = Mounted(Mounted(inner, "/deep/observe", inner), "/observe", inner)
    with running_app(app) as url:
        for place in ("/observe", "/deep/observe"):
            answer = httpx.get(url + place)
            assert answer.status_code == 308
            assert answer.headers["location"] == "observe/"
            assert httpx.get(url + place, follow_redirects=True).content == page_bytes()
            assert httpx.get(f"{url}{place}/events").json()["log"] == log.name
        assert httpx.get(url + "/observed").status_code == 404


def test_a_caller_who_leaves_in_the_middle_harms_nothing(page: Running) -> None:
    port = int(page.url.rsplit(":", 1)[1])
    with socket.create_connection(("127.0.0.1", port)) as caller:
        caller.sendall(
            b"POST /events HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Content-Length: 100\r\n\r\n[{"
        )
    assert page.client.get("/events").json()["version"] == 0
