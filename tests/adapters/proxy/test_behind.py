"""What is done behind the answers holds no request up."""

from __future__ import annotations

import asyncio
import threading

from eunoe_proxy import behind
from proxied import talk


class HangingKeeper:
    """A ledger on a file that another process never lets go of."""

    def __init__(self) -> None:
        self.free = threading.Event()

    def add(self, chat, entry):
        self.free.wait(60)


def test_a_ledger_that_hangs_holds_no_request_up(upstream, proxy):
    keeper = HangingKeeper()
    running = proxy(max_tokens=600, keeper=keeper, deadline=3.0)
    try:
        outcomes = [
            running.ask(talk(20, mark=" of a ledger")).headers["x-eunoe-outcome"] for _ in range(12)
        ]
    finally:
        keeper.free.set()
    assert outcomes == ["fitted"] * 12
    running.wait_for('eunoe_requests_total{outcome="answered"}', 12)


async def test_what_is_too_much_is_left_undone_and_said_once(monkeypatch, caplog):
    monkeypatch.setattr(behind, "MOST_WAITING", 3)
    free, done = threading.Event(), []
    work = behind.WorkBehind()

    def wait():
        free.wait(60)
        done.append(1)

    assert [work.do(wait) for _ in range(6)] == [True] * 3 + [False] * 3
    assert [r.levelname for r in caplog.records] == ["WARNING"]
    free.set()
    await asyncio.wait(set(work._waiting))
    assert work.do(wait)
    await work.close(10)
    assert len(done) == 4
    assert not work.do(wait)
