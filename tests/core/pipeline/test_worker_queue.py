"""One thread asks a model in batches; after a fault it is left alone, and nobody waits in vain."""

from __future__ import annotations

import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eunoe.pipeline.worker_queue import Backoff, WorkerQueue

WAITS = (5.0, 30.0, 120.0)
ROOM = 20_000


class Model:
    """Notes its batches; can be made to wait or to fail."""

    def __init__(self):
        self.batches, self.faults, self.gate = [], [], threading.Event()
        self.gate.set()
        self.called = threading.Event()

    def ask(self, batch):
        """Nothing, for each."""
        self.batches.append(batch)
        self.called.set()
        assert self.gate.wait(30)
        if self.faults:
            raise self.faults.pop(0)

    @property
    def items(self):
        return [item for batch in self.batches for item in batch]


class Clock:
    """Says what it is told."""

    now = 0.0

    def __call__(self):
        return self.now


def a_queue(model, clock=None, *, waits=WAITS, batch=8, **more):
    backoff = Backoff("Testing", waits, clock or Clock())
    return WorkerQueue("eunoe-test", model.ask, backoff, batch=batch, **more)


def soon():
    """Time enough for whatever is not stuck."""
    until = time.monotonic() + 20.0
    return lambda: until - time.monotonic()


@given(st.lists(st.lists(st.integers(0, 60), max_size=40), max_size=6), st.integers(1, 9))
def test_each_item_is_asked_about_once_in_order(puts, batch):
    model = Model()
    model.gate.clear()
    queue = a_queue(model, batch=batch)
    queue.put([-1])
    assert model.called.wait(30)
    assert all(queue.put(items) for items in puts)
    model.gate.set()
    queue.drain()
    assert model.items == [-1, *dict.fromkeys(item for items in puts for item in items)]
    assert max(map(len, model.batches)) <= batch


def test_the_newest_can_come_first_and_a_batch_keeps_its_order():
    model = Model()
    model.gate.clear()
    queue = a_queue(model, batch=3, newest_first=True)
    queue.put([0])
    assert model.called.wait(30)
    queue.put(range(1, 8))
    model.gate.set()
    queue.drain()
    assert model.batches == [[0], [5, 6, 7], [2, 3, 4], [1]]


def test_a_thread_ends_with_its_work_and_another_begins():
    model = Model()
    queue = a_queue(model)
    for k in range(3):
        assert queue.put([k])
        assert queue.wait_for([k], soon())
        queue.drain()
        assert model.items == list(range(k + 1))
        named = [t for t in threading.enumerate() if t.name == "eunoe-test"]
        for thread in named:
            thread.join(30)
            assert not thread.is_alive()


def test_who_waits_is_told_in_time_or_not():
    model = Model()
    model.gate.clear()
    queue = a_queue(model)
    assert queue.put(["a"])
    assert not queue.wait_for(["a"], lambda: 0.0)
    assert queue.wait_for(["b"], lambda: 0.0), "it does not wait"
    lefts = iter([0.01, 0.01, 0.0])
    assert not queue.wait_for(["a", "b"], lambda: next(lefts))
    model.gate.set()
    assert queue.wait_for(["a"], soon())


@pytest.mark.parametrize("waits", [WAITS, (0.0,)])
def test_a_fault_drops_what_waits(waits):
    model = Model()
    model.gate.clear()
    model.faults = [RuntimeError()]
    queue = a_queue(model, waits=waits, batch=1)
    queue.put(["a", "b", "c"])
    model.gate.set()
    assert queue.wait_for(["a", "b", "c"], soon())
    queue.drain()
    assert model.batches == [["a"]]


def test_waits_grow_with_faults_in_a_row_and_an_answer_ends_the_row(caplog):
    clock, model = Clock(), Model()
    queue = a_queue(model, clock)
    for wait in (*WAITS, WAITS[-1]):
        model.faults = [RuntimeError()]
        assert queue.put(["a"])
        queue.drain()
        assert f"Testing failed (RuntimeError): left alone for {wait:g} s" in caplog.messages[-1]
        clock.now += wait - 0.1
        assert not queue.put(["a"])
        assert queue.wait_for(["a"], lambda: 0.0)
        clock.now += 0.2
    assert len(model.batches) == 4
    assert queue.put(["a"])
    queue.drain()
    model.faults = [RuntimeError()]
    queue.put(["a"])
    queue.drain()
    assert "for 5 s" in caplog.messages[-1]


def test_the_queue_is_bounded():
    model = Model()
    model.gate.clear()
    queue = a_queue(model, batch=ROOM)
    assert queue.put(range(ROOM))
    assert not queue.put([-1])
    model.gate.set()
    queue.drain()
    assert len(model.items) == ROOM
    assert queue.put([-1])
    queue.drain()
    assert model.items[-1] == -1


@pytest.mark.parametrize("fault", [SystemExit, KeyboardInterrupt, GeneratorExit])
def test_a_model_that_ends_the_thread_is_a_fault_too(fault):
    clock, model = Clock(), Model()
    model.gate.clear()
    model.faults = [fault()]
    queue = a_queue(model, clock, batch=1)
    queue.put(["a", "b"])
    model.gate.set()
    assert queue.wait_for(["a", "b"], soon())
    queue.drain()
    assert not queue.put(["a"])
    clock.now += WAITS[0] + 0.1
    assert queue.put(["a"])
    queue.drain()
    assert model.items == ["a", "a"]


def test_many_threads_put_and_wait():
    model = Model()
    queue = a_queue(model)
    waited = []

    def work(k):
        mine = [(k, i) for i in range(50)]
        waited.append(queue.put(mine) and queue.wait_for(mine, soon()))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    queue.drain()
    assert waited == [True] * 8
    assert sorted(model.items) == [(k, i) for k in range(8) for i in range(50)]


def test_an_attempt_in_the_callers_own_thread():
    clock, calls = Clock(), []
    backoff = Backoff("Testing", WAITS, clock)
    assert backoff.attempt(lambda: calls.append(1))
    assert not backoff.attempt(lambda: 1 / 0)
    assert backoff.is_waiting
    assert not backoff.attempt(lambda: calls.append(2))
    clock.now = 5.1
    assert not backoff.is_waiting
    assert backoff.attempt(lambda: calls.append(3))
    assert calls == [1, 3]
    with pytest.raises(SystemExit):
        backoff.attempt(exiting)


def exiting():
    raise SystemExit
