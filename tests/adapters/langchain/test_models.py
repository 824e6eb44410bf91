"""Embeddings and chat models beside the words, as LangChain's users have them."""

from __future__ import annotations

import gc
import json
import re
import weakref
from dataclasses import dataclass, field
from typing import Any

import pytest
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.load import dumps
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import RunnableLambda

from eunoe import SettingsError
from eunoe_langchain import HistoryOptimizer
from eunoe_langchain.models import PlanModels
from eunoe_langchain.planning import PlanOptions, plan

FACT = "The door code is 4711, please keep it secret."
QUESTION = "How do I get into the building?"


def chat(question=QUESTION, fact=FACT, turns=150):
    messages = [HumanMessage(fact), AIMessage("Noted.")]
    for i in range(turns):
        messages.append(HumanMessage(f"draft number {i} of a letter on matter {i % 9}"))
        messages.append(AIMessage(f"here is draft {i} of that letter, as it was asked for"))
    return [*messages, HumanMessage(question)]


class Local(Embeddings):
    """An embedder of ours in the clothes of LangChain."""

    def __init__(self, model):
        self.model, self.asked = model, []

    def embed_documents(self, texts):
        """Lists of floats, as LangChain wants them."""
        self.asked += texts
        return [[float(x) for x in row] for row in self.model.embed(texts)]

    def embed_query(self, text):
        """The same for one text."""
        return self.embed_documents([text])[0]


class Labels(GenericFakeChatModel):
    """Says K of lines with 4711, D of all others."""

    messages: object = iter(())
    asked: Any = None

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        self.asked.append(messages)
        text = messages[-1].content
        lines = text.split("\n")
        if "Contents:" in text:
            topics = [int(n) for n in re.findall(r"^T(\d+) .*4711", text, re.MULTILINE)]
            reply = json.dumps({"topics": topics or [1]})
        else:
            rows = [line.split(" ", 1) for line in lines if line[:1].isdigit()]
            reply = json.dumps({k: "K" if "4711" in rest else "D" for k, rest in rows})
        return ChatResult(generations=[ChatGeneration(message=AIMessage(reply))])


class Names:
    """Finds names that are written small."""

    def __init__(self, name, *names):
        self.name, self.names = name, names

    def extract(self, texts):
        """The names in each text."""
        return [[name for name in self.names if name in text] for text in texts]


class Denies:
    """Says that all texts contradict each other."""

    name = "denies"

    def __init__(self):
        self.pairs = []

    def judge(self, pairs):
        """Support, neutral, contradiction of each pair."""
        self.pairs += pairs
        return [(0.0, 0.1, 0.9)] * len(pairs)


@pytest.fixture(params=["WordLlamaEmbedder", "MiniLmEmbedder"])
def model(request):
    import eunoe_backends

    try:
        return getattr(eunoe_backends, request.param)()
    except eunoe_backends.local_embedder.BackendError as error:
        pytest.skip(str(error))


def sees(optimizer, messages=None):
    return "4711" in str([m.content for m in optimizer.invoke(messages or chat())])


def test_a_paraphrase_that_words_miss_is_found(model):
    assert not sees(HistoryOptimizer(max_tokens=2000))
    for embedder in (Local(model), model):
        assert sees(HistoryOptimizer(max_tokens=2000, embedder=embedder, embed_in_request=True))


async def test_in_a_chain_and_in_every_way_of_calling(model):
    optimizer = HistoryOptimizer(max_tokens=2000, embedder=Local(model), embed_in_request=True)
    chain = optimizer | RunnableLambda(lambda messages: "4711" in str(messages))
    assert chain.invoke(chat())
    assert await chain.ainvoke(chat())
    assert chain.batch([chat(), chat("Thanks.")]) == [True, False]
    assert "closer in meaning" in optimizer.explain(chat()).recall_reason


def test_what_is_embedded_once_is_not_asked_again(model):
    local = Local(model)
    for _ in range(2):
        assert sees(HistoryOptimizer(max_tokens=2000, embedder=local, embed_in_request=True))
    texts = [text for text in local.asked if text != QUESTION]
    assert len(texts) == len(set(texts)) == 302
    assert local.asked.count(QUESTION) <= 2  # as a question, and as a text of the chat


def test_behind_the_request_by_default(model):
    optimizer = HistoryOptimizer(max_tokens=2000, embedder=Local(model), embed_timeout=20)
    assert not sees(optimizer)
    optimizer.drain()
    assert sees(optimizer)


def test_two_models_are_never_mixed():
    wide, narrow = (DeterministicFakeEmbedding(size=n) for n in (8, 5))
    for embedder in (wide, narrow, wide):
        optimizer = HistoryOptimizer(max_tokens=2000, embedder=embedder, embed_in_request=True)
        assert optimizer.explain(chat()).warnings == ()


class Broken(Embeddings):
    def embed_documents(self, texts):
        raise ConnectionError("away")

    def embed_query(self, text):
        raise ConnectionError("away")


def test_a_broken_model_is_an_absent_one():
    plain = HistoryOptimizer(max_tokens=2000).invoke(chat())
    optimizer = HistoryOptimizer(max_tokens=2000, embedder=Broken(), embed_in_request=True)
    assert optimizer.invoke(chat()) == plain
    labelled = HistoryOptimizer(
        max_tokens=2000, labeller=GenericFakeChatModel(messages=iter(["no idea"] * 99))
    )
    assert labelled.invoke(chat()) == plain


def test_labels_of_a_chat_model():
    labeller = Labels(asked=[])
    policy = {"max_tokens": 600, "policy": "relevance"}
    fact = "The plumber came at noon, looked at the tiles and the pipes, and left. " * 4 + "4711"
    messages = chat("Whom did we let in?", fact)
    optimizer = HistoryOptimizer(**policy, labeller=labeller)
    assert not sees(HistoryOptimizer(**policy), messages)
    assert sees(optimizer, messages)
    asked = len(labeller.asked)
    assert asked
    assert sees(optimizer, messages)
    assert len(labeller.asked) == asked  # remembered


async def test_labelling_shows_up_in_no_stream():
    chain = HistoryOptimizer(max_tokens=2000, labeller=Labels(asked=[])) | RunnableLambda(len)
    events = [event["name"] async for event in chain.astream_events(chat(), version="v2")]
    assert "Labels" not in events


class Notes(GenericFakeChatModel):
    """Notes that the door code was given, and what its own notes said before."""

    messages: object = iter(())
    asked: Any = None

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        self.asked.append(messages)
        reply = "- The door code is 4711.\n- Drafts of letters were written."
        return ChatResult(generations=[ChatGeneration(message=AIMessage(reply))])


def test_a_chat_model_sums_up_behind_the_answers():
    model = Notes(asked=[])
    optimizer = HistoryOptimizer(max_tokens=2000, summarizer=model, settings={"recall": "never"})
    assert not sees(optimizer)
    for _ in range(3):
        optimizer.drain()
        seen = optimizer.invoke(chat())
    [summary] = [m for m in seen if "<summary note=" in m.content]
    assert "The door code is 4711." in summary.content
    assert summary.additional_kwargs["lc_source"] == "summarization"
    assert summary.type == "human"
    assert optimizer.invoke(chat()) == seen
    rules, shown = model.asked[0]
    assert "data" in rules.content
    assert FACT in shown.content


def test_a_look_sums_nothing_up():
    model = Notes(asked=[])
    optimizer = HistoryOptimizer(max_tokens=2000, summarizer=model)
    optimizer.explain(chat())
    optimizer.drain()
    assert model.asked == []
    optimizer.invoke(chat())
    optimizer.drain()
    assert model.asked


async def test_summing_up_shows_up_in_no_stream():
    optimizer = HistoryOptimizer(max_tokens=2000, summarizer=Notes(asked=[]))
    chain = optimizer | RunnableLambda(len)
    events = [event["name"] async for event in chain.astream_events(chat(), version="v2")]
    optimizer.drain()
    assert "Notes" not in events


def test_one_model_may_do_both():
    model = Labels(asked=[])
    optimizer = HistoryOptimizer(max_tokens=2000, labeller=model, summarizer=model)
    assert optimizer.invoke(chat())
    optimizer.drain()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("embedder", 7),
        ("labeller", "gpt-4o"),
        ("summarizer", "gpt-4o"),
        ("entity_extractor", "en_core_web_sm"),
        ("stance_judge", 7),
        ("structure_timeout", 0),
    ],
)
def test_what_is_no_model_is_refused(field, value):
    with pytest.raises((SettingsError, ValueError), match=field):
        HistoryOptimizer(max_tokens=2000, **{field: value})


@pytest.mark.parametrize(
    "given",
    [{"embedder": DeterministicFakeEmbedding(size=3)}, {"entity_extractor": Names("x", "y")}],
)
def test_with_a_model_it_is_not_written_down(given):
    optimizer = HistoryOptimizer(max_tokens=2000, **given)
    assert json.loads(dumps(optimizer))["type"] == "not_implemented"
    assert json.loads(dumps(HistoryOptimizer(max_tokens=2000)))["type"] == "constructor"


def test_a_model_may_go():
    embedder = Broken()
    gone = weakref.ref(embedder)
    optimizer = HistoryOptimizer(max_tokens=2000, embedder=embedder, embed_in_request=True)
    optimizer.invoke(chat())
    del optimizer, embedder
    gc.collect()
    assert gone() is None


def test_names_tell_what_it_stands_for():
    messages = chat("which login does it want?", "the payments api wants the login 4711")
    messages[20:36] = [
        m
        for i in range(8)
        for m in (HumanMessage(f"the app {i} wants the login {i}"), AIMessage("ok"))
    ]
    messages[-1:-1] = [HumanMessage("please test the payments api"), AIMessage("it passed")]

    def score(**given):
        optimizer = HistoryOptimizer(max_tokens=2000, policy="relevance", **given)
        return optimizer.explain(messages).decisions[0].score

    assert score(entity_extractor=Names("small", "payments api")) > 1.5 * score()


def test_a_judge_is_asked_by_the_walk():
    judge = Denies()
    optimizer = HistoryOptimizer(max_tokens=2000, policy="lethe", stance_judge=judge)
    plain = HistoryOptimizer(max_tokens=2000, policy="lethe")
    judged, free = (x.explain(chat("the letter on matter 3?")) for x in (optimizer, plain))
    assert 0 < len(judge.pairs) <= 64
    assert [d.score for d in judged.decisions] != [d.score for d in free.decisions]


@dataclass
class ByHand:
    """An embedder with ``__eq__`` and without ``__hash__``, as a plain dataclass is."""

    name: str
    seen: list[str] = field(default_factory=list)
    dimension: int = 2

    def embed(self, texts):
        """The same vector for every text."""
        self.seen += texts
        return [[1.0, 0.0] for _ in texts]


@dataclass
class ByHandOfLangChain(Embeddings):
    """The same in the clothes of LangChain."""

    seen: list[str] = field(default_factory=list)

    def embed_documents(self, texts):
        """The same vector for every text."""
        self.seen += texts
        return [[1.0, 0.0] for _ in texts]

    def embed_query(self, text):
        """The same for one text."""
        return self.embed_documents([text])[0]


@pytest.mark.parametrize("make", [lambda: ByHand("by hand"), ByHandOfLangChain])
def test_a_model_that_cannot_be_hashed_is_asked_and_the_budget_holds(make):
    embedder = make()
    with pytest.raises(TypeError):
        hash(embedder)
    optimizer = HistoryOptimizer(max_tokens=2000, embedder=embedder, embed_in_request=True)
    report = optimizer.explain(chat())
    assert report.tokens_after <= 2000 < report.tokens_before
    assert len(optimizer.invoke(chat())) < len(chat())
    assert embedder.seen


def test_models_that_compare_equal_are_still_two():
    one, two = ByHand("a"), ByHand("a")
    assert one == two
    assert PlanModels(embedder=one) != PlanModels(embedder=two)
    assert PlanModels(embedder=one) == PlanModels(embedder=one)
    assert hash(PlanModels(embedder=one)) == hash(PlanModels(embedder=one))
    assert PlanModels() == PlanModels()
    assert PlanModels() != "models"
    assert PlanModels(embed_timeout=1.0) != PlanModels(embed_timeout=2.0)


@pytest.mark.parametrize("given", [{"embed_timeout": -1.0}, {"structure_timeout": "soon"}])
def test_what_no_plan_can_be_made_with_is_raised(given):
    options = PlanOptions(max_tokens=2000, models=PlanModels(**given))
    with pytest.raises(SettingsError):
        plan(chat(), options)


def test_models_whose_name_cannot_be_told_do_not_switch_the_budget_off():
    class Nameless(ByHand):
        @property
        def name(self):
            raise RuntimeError("no name today")

        @name.setter
        def name(self, value):
            pass

    with pytest.raises(RuntimeError, match="no name today"):
        plan(chat(), PlanOptions(max_tokens=2000, models=PlanModels(embedder=Nameless("a"))))
