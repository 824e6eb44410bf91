"""Threads of our own, in which models are asked: whatever a model raises there, somebody hears."""

from __future__ import annotations

import threading
from collections.abc import Callable


def start_behind(
    name: str, work: Callable[[], object], failed: Callable[[BaseException], None]
) -> None:
    """Have something done in a thread; returns at once.

    Args:
        name: of the thread.
        work: what is to be done.
        failed: is told what ``work`` raised. That may be ``SystemExit``, too: a model that ends its
            thread must not leave others waiting for it. Is told at once, in this thread, where none
            can be started: the system has no more of them, or the process is ending.
    """

    def run() -> None:
        try:
            work()
        except BaseException as error:
            failed(error)

    try:
        threading.Thread(target=run, name=name, daemon=True).start()
    except RuntimeError as error:
        failed(error)


def wait_behind(
    name: str,
    work: Callable[[], object],
    failed: Callable[[BaseException], None],
    seconds: float,
) -> None:
    """Have something done in a thread, and wait for it; what is late goes on behind.

    Args:
        name: of the thread.
        work: what is to be done.
        failed: is told what ``work`` raised, as in ``start_behind``.
        seconds: to wait at most.
    """
    done = threading.Event()

    def run() -> None:
        work()
        done.set()

    def fail(error: BaseException) -> None:
        try:
            failed(error)
        finally:
            done.set()

    start_behind(name, run, fail)
    done.wait(seconds)
