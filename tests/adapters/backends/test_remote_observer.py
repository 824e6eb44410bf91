"""Events go to a page behind the requests; a page that fails harms nothing."""

from __future__ import annotations

import logging
import os
import socket
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from eunoe import Report, RequestEvent, SettingsError
from eunoe.domain.report import DecisionList
from eunoe_backends import RemoteObserver
from eunoe_observer.app import LARGEST_POST
from events import SECRET, event_of
from model_server import ModelServer, running_server

EVENT = event_of(3)


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def page() -> Iterator[ModelServer]:
    """Takes in what is posted."""
    with running_server() as server:
        server.statuses = [204] * 1000
        yield server


def place(page: ModelServer) -> str:
    return page.url.removesuffix("/v1")


def test_events_arrive_in_order_and_without_text(page: ModelServer) -> None:
    observer = RemoteObserver(place(page) + "/observe/")
    for turns in (1, 2, 3):
        observer.observe(event_of(turns))
    assert observer.drain()
    told = [record for _, _, records in page.asked for record in records]
    assert [len(record["fates"]) for record in told] == [6, 8, 10]
    assert {path for path, _, _ in page.asked} == {"/observe/events"}
    assert page.asked[0][1]["Content-Type"] == "application/json"
    assert not any(SECRET.encode() in data for data in page.raw)
    assert observer.lost == 0


def test_a_page_that_is_not_there_is_left_alone_for_a_while(
    page: ModelServer, caplog: pytest.LogCaptureFixture
) -> None:
    clock, refused = Clock(), socket.create_server(("127.0.0.1", 0))
    port = refused.getsockname()[1]
    refused.close()
    observer = RemoteObserver(f"http://127.0.0.1:{port}", clock=clock)
    with caplog.at_level(logging.INFO, "eunoe"):
        for _ in range(3):
            observer.observe(EVENT)
            assert observer.drain()
    assert observer.lost == 3
    [line] = caplog.messages
    assert "ConnectionRefusedError" in line

    page.statuses = [503, 204]
    observer = RemoteObserver(place(page), clock=clock)
    for wait, arrived in ((0.0, 1), (4.9, 1), (0.2, 2), (0.0, 3)):
        clock.now += wait
        observer.observe(EVENT)
        assert observer.drain()
        assert len(page.asked) == arrived
        page.statuses = page.statuses or [204]


def test_a_page_that_hangs_delays_nobody_and_the_oldest_events_are_lost(page: ModelServer) -> None:
    page.delay = 0.5
    observer = RemoteObserver(place(page))
    observer.observe(EVENT)
    while not page.asked:
        time.sleep(0.01)
    for _ in range(100):
        observer.observe(EVENT)
    assert len(page.asked) == 1  # it still waits for the first answer
    page.delay = 0.0
    assert observer.drain()
    assert observer.lost == 100 - 64
    assert sum(len(records) for _, _, records in page.asked) == 65


def test_an_event_that_cannot_be_told_is_lost(caplog: pytest.LogCaptureFixture) -> None:
    observer = RemoteObserver("http://127.0.0.1:9")
    with caplog.at_level(logging.INFO, "eunoe"):
        observer.observe(SECRET)  # type: ignore[arg-type]
        assert observer.drain()
    assert observer.lost == 1
    assert SECRET not in caplog.text


def test_large_events_go_in_several_pieces(page: ModelServer) -> None:
    observer = RemoteObserver(place(page))
    tokens, fates = [7] * 150_000, {}
    report = Report(
        decisions=DecisionList(tokens, fates), tokens_before=1, tokens_after=1, budget=9
    )
    for _ in range(5):
        observer.observe(RequestEvent(report=report))
    assert observer.drain(30)
    assert observer.lost == 0
    assert sum(len(records) for _, _, records in page.asked) == 5
    assert max(map(len, page.raw)) < LARGEST_POST


def test_an_idle_thread_ends_and_another_begins(
    page: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("eunoe_backends.event_queue.QUEUE_IDLE_SECONDS", 0.05)
    observer = RemoteObserver(place(page))
    for arrived in (1, 2):
        observer.observe(EVENT)
        assert observer.drain()
        assert len(page.asked) == arrived
        end = time.monotonic() + 10
        while observer._queue._thread is not None:
            assert time.monotonic() < end
            time.sleep(0.01)


def test_many_threads_share_one(page: ModelServer) -> None:
    observer = RemoteObserver(place(page))
    threads = [threading.Thread(target=observer.observe, args=(EVENT,)) for _ in range(30)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert observer.drain()
    assert sum(len(records) for _, _, records in page.asked) + observer.lost == 30


@pytest.mark.skipif(not hasattr(os, "fork") or sys.platform == "darwin", reason="no fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_worker_sends_its_own(page: ModelServer) -> None:
    observer = RemoteObserver(place(page))
    observer.observe(EVENT)
    assert observer.drain()
    child = os.fork()
    if not child:
        observer.observe(EVENT)
        os._exit(0 if observer.drain() and not observer.lost else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert len(page.asked) == 2


@pytest.mark.parametrize(
    "url", ["", "127.0.0.1:8788", "ftp://x", "http://", "http://u:p@x", "http://x?a=1", "http://[x"]
)
def test_an_address_that_is_none_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(SettingsError, match=r"http://127\.0\.0\.1:8788") as raised:
        RemoteObserver(url)
    assert "u:p" not in str(raised.value)
