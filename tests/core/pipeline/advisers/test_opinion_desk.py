"""A model behind a desk: asked once for each content, never waited for long, never in the way."""

from __future__ import annotations

import threading
import time

import pytest

from eunoe import BackendError, SettingsError
from eunoe.pipeline.advisers.opinion_desk import DESK_BATCH, DESK_WAITS, OpinionDesk
from eunoe.pipeline.chat.opinion_memory import OpinionMemory


class Lengths:
    """Says how long texts are; can be made to wait or to fail."""

    def __init__(self):
        self.batches, self.gate, self.fault = [], threading.Event(), None
        self.gate.set()

    def ask(self, texts):
        """The length of each text."""
        self.batches.append(list(texts))
        assert self.gate.wait(10)
        if self.fault is not None:
            raise self.fault
        return [len(t) for t in texts]

    @property
    def texts(self):
        return [t for batch in self.batches for t in batch]


def desk(model, *, memory=None, name="lengths", timeout=5.0, read=None, **more):
    return OpinionDesk(
        name,
        model.ask,
        read or (lambda said: (said, 10)),
        str.encode,
        memory if memory is not None else OpinionMemory(100_000),
        what="Measuring",
        timeout=timeout,
        **more,
    )


def never():
    return False


def test_each_content_is_asked_for_once():
    model = Lengths()
    asked = desk(model)
    assert asked.opinions(["a", "bb", "a"], never) == [1, 2, 1]
    assert asked.opinions(["bb", "ccc"], never) == [2, 3]
    assert asked.opinions([], never) == []
    assert sorted(model.texts) == ["a", "bb", "ccc"]


def test_many_come_in_batches():
    model = Lengths()
    texts = [f"text {i}" for i in range(3 * DESK_BATCH)]
    assert desk(model).opinions(texts, never) == [len(t) for t in texts]
    assert max(map(len, model.batches)) <= DESK_BATCH


def test_desks_of_one_memory_know_each_other_by_name():
    model, other, memory = Lengths(), Lengths(), OpinionMemory(100_000)
    desk(model, memory=memory).opinions(["a"], never)
    assert desk(other, memory=memory).opinions(["a"], never) == [1]
    assert other.texts == []
    assert desk(other, memory=memory, name="others").opinions(["a"], never) == [1]
    assert other.texts == ["a"]


def test_a_late_model_answers_for_the_next_request():
    model = Lengths()
    model.gate.clear()
    asked = desk(model, timeout=0.05)
    assert asked.opinions(["a"], never) is None
    model.gate.set()
    asked.drain()
    assert asked.opinions(["a"], never) == [1]
    assert model.texts == ["a"]


def test_the_deadline_of_a_request_ends_the_wait():
    model = Lengths()
    model.gate.clear()
    until = time.monotonic() + 0.05
    asked = desk(model, timeout=9.0)
    assert asked.opinions(["a"], lambda: time.monotonic() > until) is None
    assert time.monotonic() < until + 3
    model.gate.set()
    asked.drain()
    assert asked.opinions(["a"], lambda: True) == [1]
    assert asked.opinions(["b"], lambda: True) is None
    assert model.texts == ["a"]


def test_who_has_patience_waits():
    model = Lengths()
    model.gate.clear()
    threading.Timer(0.2, model.gate.set).start()
    assert desk(model, timeout=0.01).opinions(["a"], never, patient=True) == [1]


def test_a_fault_closes_the_desk_for_a_while():
    now = 0.0
    model = Lengths()
    model.fault = BackendError("away")
    asked = desk(model, clock=lambda: now)
    for round_, wait in enumerate((*DESK_WAITS, DESK_WAITS[-1])):
        assert asked.opinions(["a", "b"], never) is None
        asked.drain()
        assert len(model.batches) == round_ + 1
        now += wait - 0.1
        assert asked.opinions(["a"], never) is None
        assert len(model.batches) == round_ + 1
        now += 0.2
    model.fault = None
    assert asked.opinions(["a"], never) == [1]


@pytest.mark.parametrize(
    "answer", [lambda texts: [], lambda texts: [1, 2, 3], lambda texts: None, lambda texts: 1 / 0]
)
def test_an_answer_that_is_none_is_a_fault(answer):
    model = Lengths()
    model.ask = answer
    assert desk(model).opinions(["a"], never) is None


def test_what_cannot_be_read_is_a_fault():
    def refuse(said):
        raise ValueError(said)

    assert desk(Lengths(), read=refuse).opinions(["a"], never) is None


def test_a_memory_too_small_for_all_gives_none_of_them():
    asked = desk(Lengths(), memory=OpinionMemory(40))
    assert asked.opinions([f"text {i}" for i in range(50)], never) is None


def test_what_was_asked_last_comes_first():
    model = Lengths()
    model.gate.clear()
    asked = desk(model, timeout=0.05)
    assert asked.opinions([f"old {i:03}" for i in range(200)], never) is None
    assert asked.opinions(["new"], never) is None
    model.gate.set()
    asked.drain()
    assert "new" in model.batches[1]


def test_threads_share_one_model():
    model = Lengths()
    asked = desk(model)
    found = []

    def work():
        found.append(asked.opinions([f"text {i}" for i in range(100)], never))

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [[len(f"text {i}") for i in range(100)]] * 6


@pytest.mark.parametrize("timeout", [0, -1, float("inf"), float("nan")])
def test_the_time_out_is_above_0(timeout):
    with pytest.raises(SettingsError, match="structure_timeout"):
        desk(Lengths(), timeout=timeout)
