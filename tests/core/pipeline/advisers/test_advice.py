"""Embedders and labellers beside words: better where they are there, never in the way."""

from __future__ import annotations

import threading

import pytest

from ask import ask, bytes_of, sent_by
from eunoe import BackendError, ContextOrchestrator, Conversation, SettingsError, TokenBudget
from eunoe.pipeline.advisers.embedding import HistoryEmbedder
from eunoe.pipeline.chat.transcript import PipelineMemory
from judge import ThirdsCounter

SENSES = {"feline": 0, "cat": 0, "kitten": 0, "tax": 1, "levy": 1, "boat": 2, "ship": 2}


class SenseEmbedder:
    """Knows a few synonyms; can be made to fail, to wait, and to answer oddly."""

    name = "senses"
    dimension = None

    def __init__(self, answer=None, gate=None):
        self.texts, self.answer, self.gate = [], answer, gate

    def embed(self, texts):
        """One vector for each text."""
        self.texts += texts
        if self.gate is not None:
            self.gate.wait(10)
        return [vector_of(t) for t in texts] if self.answer is None else self.answer(texts)


def vector_of(text):
    row = [0.01] * 4
    for word in text.lower().split():
        row[SENSES.get(word.strip(".?"), 3)] += 1.0
    return row


def chat(size=60):
    raw = [{"role": "system", "content": "Be kind."}]
    for i in range(size):
        raw.append({"role": "user", "content": f"note {i} about things and other matters today"})
        raw.append({"role": "assistant", "content": f"I wrote down the note {i} about things"})
    if size > 20:
        raw[21] = {"role": "user", "content": "cat kitten cat cat kitten cat kitten"}
    return [*raw, {"role": "user", "content": "feline?"}]


def orchestrator(embedder, memory=None, **more):
    return ContextOrchestrator(
        TokenBudget(400),
        token_counter=ThirdsCounter(),
        memory=memory if memory is not None else PipelineMemory(),
        embedder=embedder,
        **more,
    )


def fate(found, i=21):
    return str(found.report.decisions[i].fate)


def answer(by, raw=None):
    return ask(raw or chat(), 400, policy="relevance", by=by)


def test_the_history_is_embedded_behind_the_answer():
    embedder = SenseEmbedder()
    by = orchestrator(embedder)
    assert fate(answer(by)) == "dropped"
    by.drain()
    assert "Be kind." not in embedder.texts
    assert fate(answer(by)) in ("kept", "recalled")
    assert len(embedder.texts) == len(set(embedder.texts)) == 121


def test_embed_in_request_needs_no_second_one():
    assert fate(answer(orchestrator(SenseEmbedder(), embed_in_request=True))) != "dropped"


def test_same_vectors_same_answer_warm_or_cold():
    memory = PipelineMemory()
    raw = chat()
    warm = orchestrator(SenseEmbedder(), memory, embed_in_request=True)
    for stop in range(2, len(raw) + 1, 7):
        if raw[stop - 1]["role"] == "user":
            answer(warm, raw[:stop])
    cold = orchestrator(SenseEmbedder(), embed_in_request=True)
    got, fresh = answer(warm), answer(cold)
    assert bytes_of([sent_by(got), got.report.to_dict()]) == bytes_of(
        [sent_by(fresh), fresh.report.to_dict()]
    )


def test_orchestrators_of_one_memory_with_and_without_do_not_meet():
    memory = PipelineMemory()
    answer(orchestrator(SenseEmbedder(), memory, embed_in_request=True))
    assert fate(answer(orchestrator(None, memory))) == "dropped"


def test_a_chat_far_from_its_budget_is_not_embedded():
    embedder = SenseEmbedder()
    by = orchestrator(embedder)
    ask(chat(2), 4000, by=by)
    by.drain()
    assert embedder.texts == []


def refuse(texts):
    raise BackendError("away")


def crash(texts):
    raise ZeroDivisionError


@pytest.mark.parametrize(
    "odd",
    [
        refuse,
        crash,
        lambda texts: [],
        lambda texts: None,
        lambda texts: [None] * len(texts),
        lambda texts: [[float("nan")] * 4] * len(texts),
        lambda texts: [[0.0] * 4] * len(texts),
        lambda texts: ["x"] * len(texts),
        lambda texts: [[1.0] * (1 + len(t) % 5) for t in texts],
    ],
)
@pytest.mark.parametrize("in_request", [True, False])
def test_an_odd_embedder_is_never_in_the_way(odd, in_request):
    by = orchestrator(SenseEmbedder(odd), embed_in_request=in_request)
    plain = answer(orchestrator(None))
    got = answer(by)
    by.drain()
    if odd in (refuse, crash):
        assert bytes_of(sent_by(got)) == bytes_of(sent_by(plain))
        assert got.report.warnings
    assert got.report.tokens_after <= 400


def test_a_slow_question_is_not_waited_for_and_helps_the_next_request():
    gate = threading.Event()
    by = orchestrator(SenseEmbedder(gate=gate), embed_timeout=0.01)
    got = answer(by)
    assert [w for w in got.report.warnings if "not embedded" in w]
    gate.set()
    by.drain()
    for _ in range(50):  # the question's own thread may still be at it
        if not answer(by).report.warnings:
            break
    assert fate(answer(by)) != "dropped"


def test_after_a_fault_the_embedder_is_left_alone_for_a_while():
    now = [0.0]
    embedder = SenseEmbedder(refuse)
    memory = PipelineMemory()
    desk = HistoryEmbedder(embedder, memory.vectors, in_request=True, clock=lambda: now[0])
    contents = memory.contents("")
    entries = contents.read_all([{"role": "user", "content": f"text {i}"} for i in range(3)])
    asked = []
    for at in (0.0, 4.9, 5.1, 30.0, 35.2, 150.0, 155.3):
        now[0] = at
        before = len(embedder.texts)
        assert not desk.embed_all(entries)
        asked.append(len(embedder.texts) > before)
    assert asked == [True, False, True, False, True, False, True]
    embedder.answer, now[0] = None, 1000.0
    assert desk.embed_all(entries)


BAD_ROWS = [None, [0.0] * 4, [float("nan")] * 4, [], "text", [[1.0] * 4]]


@pytest.mark.parametrize("bad", BAD_ROWS)
def test_a_text_without_a_vector_is_asked_once_and_costs_the_others_nothing(bad):
    embedder = SenseEmbedder(lambda texts: [bad if "7" in t else vector_of(t) for t in texts])
    by = orchestrator(embedder)
    for _ in range(3):
        answer(by)
        by.drain()
    assert fate(answer(by)) in ("kept", "recalled")
    assert len(embedder.texts) == len(set(embedder.texts)) == 121


@pytest.mark.parametrize("bad", BAD_ROWS)
@pytest.mark.parametrize("in_request", [True, False])
def test_a_question_without_a_vector_is_asked_once(bad, in_request):
    embedder = SenseEmbedder(lambda texts: [bad if "feline" in t else vector_of(t) for t in texts])
    by = orchestrator(embedder, embed_in_request=in_request)
    for _ in range(3):
        found = answer(by)
        by.drain()
        assert "the question was not embedded: words alone decide" in found.report.warnings
    assert embedder.texts.count("feline?") == 1


class WordLabeller:
    """Says which messages hold a word."""

    name = "words"

    def __init__(self, answer=None):
        self.asked, self.answer = 0, answer

    def label(self, question, messages):
        """The worth of each message."""
        self.asked += 1
        if self.answer is not None:
            return self.answer(messages)
        return [1.0 if "cat" in text else 0.05 for _, text in messages]


async def test_labels_are_used_once_they_are_prepared():
    labeller = WordLabeller()
    by = orchestrator(None, labeller=labeller)
    assert fate(answer(by)) == "dropped"
    assert labeller.asked == 0
    assert await by.prepare(Conversation.from_openai_messages(chat()))
    assert fate(answer(by)) != "dropped"
    assert labeller.asked == 1


def test_labels_within_the_request():
    labeller = WordLabeller()
    by = orchestrator(None, labeller=labeller, label_timeout=10.0)
    assert fate(answer(by)) != "dropped"
    assert answer(by).report.warnings == ()
    assert labeller.asked == 1


@pytest.mark.parametrize(
    "odd",
    [
        refuse,
        crash,
        lambda messages: [],
        lambda messages: [None] * len(messages),
        lambda messages: [float("nan")] * len(messages),
        lambda messages: [7.0] * len(messages),
        lambda messages: ["K"] * len(messages),
    ],
)
def test_an_odd_labeller_is_an_absent_signal(odd):
    by = orchestrator(None, labeller=WordLabeller(odd), label_timeout=10.0)
    got = answer(by)
    assert bytes_of(sent_by(got)) == bytes_of(sent_by(answer(orchestrator(None))))
    assert got.report.warnings


def test_time_outs_out_of_range():
    for more in ({"embedder": SenseEmbedder(), "embed_timeout": 0.0},):
        with pytest.raises(SettingsError):
            ContextOrchestrator(**more)
    with pytest.raises(SettingsError):
        ContextOrchestrator(labeller=WordLabeller(), label_timeout=-1.0)
