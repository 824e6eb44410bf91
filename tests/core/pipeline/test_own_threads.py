"""Whatever a model raises in a thread of ours, nobody waits for it in vain."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from eunoe import ContextOrchestrator, Conversation, SettingsError, TokenBudget
from eunoe.pipeline.chat.transcript import PipelineMemory
from eunoe.pipeline.own_threads import start_behind, wait_behind
from judge import ThirdsCounter
from strategies import assistant, user

FAULTS = [SystemExit, KeyboardInterrupt, GeneratorExit, RuntimeError]
PORTS = ["embedder", "labeller", "entity_extractor", "stance_judge", "summarizer"]


class Model:
    """Raises whatever it is asked."""

    dimension = None

    def __init__(self, fault=RuntimeError, name="model", dimension=None):
        self.fault, self.name, self.dimension = fault, name, dimension

    def embed(self, *given, **more):
        raise self.fault

    label = extract = judge = summarize = embed


def orchestrator(**models):
    return ContextOrchestrator(
        TokenBudget(900), token_counter=ThirdsCounter(), memory=PipelineMemory(), **models
    )


def chat():
    messages = []
    for k in range(60):
        messages += [user(f"Batch {k} of rye has {37 * k} loaves."), assistant("Noted. " * 9)]
    return Conversation.from_openai_messages([*messages, user("How is it about that one?")])


@pytest.mark.parametrize("fault", FAULTS)
def test_somebody_hears_of_every_fault(fault):
    heard, done = [], threading.Event()

    def fail():
        raise fault

    def hear(error):
        heard.append(type(error))
        done.set()

    start_behind("eunoe-test", fail, hear)
    assert done.wait(30)
    assert heard == [fault]


def test_what_is_late_goes_on_behind():
    gate, done, heard = threading.Event(), [], []
    wait_behind("eunoe-test", lambda: done.append("quick"), heard.append, 30)
    assert done == ["quick"]

    def slow():
        gate.wait(30)
        done.append("late")
        ended.set()

    ended = threading.Event()
    wait_behind("eunoe-test", slow, heard.append, 0.01)
    assert done == ["quick"]
    gate.set()
    assert ended.wait(30)
    assert done == ["quick", "late"]
    assert heard == []


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_ends_the_wait(fault):
    heard, told = [], threading.Event()

    def fail():
        raise fault

    def hear(error):
        heard.append(type(error))
        told.set()

    wait_behind("eunoe-test", fail, hear, 1e9)
    assert told.wait(30)
    assert heard == [fault]


@pytest.mark.parametrize("policy", ["stable", "lethe"])
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("port", PORTS)
def test_a_model_that_ends_its_thread_leaves_nobody_waiting(port, fault, policy):
    by = orchestrator(**{port: Model(fault)}, label_timeout=30, embed_timeout=30)
    for _ in range(2):
        assert by.process_sync(chat(), policy=policy, session_id="a").conversation.raw
        waiting = threading.Thread(target=by.drain, daemon=True)
        waiting.start()
        waiting.join(30)
        assert not waiting.is_alive()


@pytest.mark.parametrize("name", [None, 5, ["model"], ("model", 1)])
@pytest.mark.parametrize("port", PORTS[:-1])
def test_a_name_that_is_no_text_is_refused_at_once(port, name):
    with pytest.raises(SettingsError) as caught:
        orchestrator(**{port: Model(name=name)})
    assert caught.value.name == f"{port}.name"


def test_a_dimension_is_a_length():
    for dimension in (0, -3, "8", 2.5, True, 10**9):
        with pytest.raises(SettingsError) as caught:
            orchestrator(embedder=Model(dimension=dimension))
        assert caught.value.name == "embedder.dimension"
    for dimension in (None, 1, 384, np.int64(384)):
        orchestrator(embedder=Model(dimension=dimension))


@pytest.mark.parametrize("port", PORTS)
def test_where_no_thread_can_be_started_the_request_goes_on(port, monkeypatch):
    class Heard(Model):
        def embed(self, *given, **more):
            raise AssertionError("no thread to ask it in")

        label = extract = judge = summarize = embed

    start = threading.Thread.start

    def refuse(thread):
        if thread.name.startswith("eunoe"):
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refuse)
    asked = orchestrator(**{port: Heard(dimension=4)})
    for _ in range(6):
        assert asked.process_sync(chat()).report.tokens_after <= 900
    asked.drain()
    heard = []
    wait_behind("eunoe-test", heard.clear, heard.append, 30)
    assert [type(error) for error in heard] == [RuntimeError]
