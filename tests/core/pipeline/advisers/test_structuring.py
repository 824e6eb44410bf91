"""Names and stances from outside: used where they tell what is meant, never in the way."""

from __future__ import annotations

import threading

import pytest

from ask import ask, bytes_of, sent_by
from eunoe import BackendError, ContextOrchestrator, Conversation, SettingsError, TokenBudget
from eunoe.domain.settings import POLICY_NAMES
from eunoe.pipeline.advisers.structuring import (
    NAMES_MISSING,
    STANCES_MISSING,
    fold_name,
    read_names,
)
from eunoe.pipeline.chat.transcript import PipelineMemory
from judge import ThirdsCounter, said
from strategies import assistant, user

LOGIN = "the payments api wants the login kilo-7"
QUESTION = "which login does it want?"
BUDGET = 500


class WordList:
    """Finds the names of a list, whatever their case; can be made to fail and to wait."""

    def __init__(self, *names, name="a list", fault=None, gate=None):
        self.names, self.name, self.fault, self.gate = names, name, fault, gate
        self.texts = []

    def extract(self, texts):
        """The names of the list in each text."""
        self.texts += texts
        if self.gate is not None:
            assert self.gate.wait(10)
        if self.fault is not None:
            raise self.fault
        return [[name for name in self.names if name in text.lower()] for text in texts]


class Contradicts:
    """Says that texts with both of two words contradict each other."""

    name = "contradicts"

    def __init__(self, *words, fault=None):
        self.words, self.fault, self.pairs = words, fault, []

    def judge(self, pairs):
        """Support, neutral, contradiction of each pair."""
        self.pairs += pairs
        if self.fault is not None:
            raise self.fault
        return [
            (0.0, 0.0, 1.0)
            if all(any(word in text for text in pair) for word in self.words)
            else (0.0, 1.0, 0.0)
            for pair in pairs
        ]


def orchestrator(extractor=None, judge=None, memory=None, **more):
    return ContextOrchestrator(
        TokenBudget(BUDGET),
        token_counter=ThirdsCounter(),
        memory=memory if memory is not None else PipelineMemory(),
        entity_extractor=extractor,
        stance_judge=judge,
        **more,
    )


def filler(count, start=0):
    return [
        m
        for i in range(start, start + count)
        for m in (user(f"item {i} wants sand" + " lorem" * 25), assistant("dolor" * 25))
    ]


def chat(question=QUESTION):
    """The answer is far back; what "it" is was named, in small letters, in the last turn."""
    others = [
        m for i in range(8) for m in (user(f"the app {i} wants the login {i}"), assistant("ok"))
    ]
    return [
        user(LOGIN),
        assistant("ok"),
        *filler(10),
        *others,
        *filler(10, 10),
        user("please test the payments api"),
        assistant("it passed"),
        user(question),
    ]


def answer(by, messages=None, policy="relevance"):
    return ask(messages or chat(), BUDGET, by=by, policy=policy)


def score(answered, i=0):
    return answered.report.decisions[i].score or 0.0


def whole(answered):
    return bytes_of([sent_by(answered), answered.report.to_dict()])


@pytest.mark.parametrize(
    ("name", "folded"),
    [
        ("Acme", "acme"),
        ("the  Acme Corp's", "acme corp"),
        ("São-Paulo", "sao-paulo"),
        ("Config.yaml", "config.yaml"),
        ("it", ""),
        ("", ""),
    ],
)
def test_names_are_folded_as_our_own_are(name, folded):
    assert fold_name(name) == folded


def test_names_of_a_text_are_few_and_each_once():
    names, size = read_names(["Acme", "acme", "x", "the", "Zoë"])
    assert names == ("acme", "zoe")
    assert size > 0
    assert len(read_names([f"name {i}" for i in range(999)])[0]) == 256
    for wrong in ("acme", [None], [["acme"]], None):
        with pytest.raises(TypeError):
            read_names(wrong)


@pytest.mark.parametrize("policy", POLICY_NAMES)
def test_what_finds_nothing_changes_nothing(policy):
    plain = whole(answer(orchestrator(), policy=policy))
    assert whole(answer(orchestrator(WordList(), Contradicts("\0")), policy=policy)) == plain


@pytest.mark.parametrize("policy", ["stable", "relevance"])
def test_a_pronoun_stands_for_a_name_that_only_the_extractor_knows(policy):
    without = answer(orchestrator(), policy=policy)
    with_names = answer(orchestrator(WordList("payments api")), policy=policy)
    assert score(with_names) > 1.5 * score(without)
    assert LOGIN in "\n".join(map(said, sent_by(with_names)))
    for i in range(22, 38):
        assert score(with_names, i) == score(without, i)


def test_a_question_that_names_something_means_nothing_else():
    asked = "does the gateway want it as login?"
    plain = answer(orchestrator(WordList("payments api")), chat(asked))
    named = answer(orchestrator(WordList("payments api", "gateway")), chat(asked))
    assert score(plain) > score(named)


def tenants(question):
    """A name whose words are common, and two messages that are tied by it alone."""
    return [
        user("our tenant is green house."),
        assistant("ok"),
        *filler(6),
        *[m for i in range(6) for m in (user(f"the green door {i}"), user(f"the house {i}"))],
        user("green house pays on Monday."),
        *filler(6, 6),
        user(question),
    ]


def test_two_hops_over_a_name_of_common_words():
    messages = tenants("when does our tenant pay?")
    place = next(i for i, m in enumerate(messages) if "Monday" in said(m))
    without = answer(orchestrator(), messages)
    with_names = answer(orchestrator(WordList("green house")), messages)
    assert score(with_names, place) == score(without, place)  # found by its own words
    assert score(with_names) > 2 * score(without)


def test_lethus_knows_what_it_means():
    messages = chat("and what about it?")
    without = answer(orchestrator(), messages, "lethus")
    with_names = answer(orchestrator(WordList("payments api")), messages, "lethus")
    assert score(with_names) > score(without)


def test_the_walk_of_lethe_passes_through_names():
    messages = [user(LOGIN), assistant("ok"), *filler(20), user("is the payments api slow?")]
    asked = [*messages, assistant("no"), *filler(4, 20), user("tell me more of the payments api")]
    without = answer(orchestrator(), asked, "lethe")
    with_names = answer(orchestrator(WordList("payments api")), asked, "lethe")
    assert score(with_names) > score(without)


def test_a_warm_turn_asks_only_for_new_texts():
    extractor = WordList("payments api")
    by = orchestrator(extractor)
    messages = chat()
    answer(by, messages, "lethe")
    texts = {said(m) for m in messages}
    assert set(extractor.texts) == texts
    assert len(extractor.texts) == len(texts)
    extractor.texts.clear()
    messages += [assistant("kilo-7"), user("thank you, and who told you?")]
    warm = answer(by, messages, "lethe")
    assert sorted(extractor.texts) == ["kilo-7", "thank you, and who told you?"]
    assert whole(warm) == whole(answer(orchestrator(WordList("payments api")), messages, "lethe"))


def test_a_chat_of_long_texts_is_remembered_whole():
    extractor = WordList("payments api")
    by = orchestrator(extractor, memory=PipelineMemory(8_000_000))
    messages = [*filler(200), user("is the payments api slow?")]
    messages[:-1:2] = [user(f"{said(m)} " + "lorem " * 1300) for m in messages[:-1:2]]
    for _ in range(2):
        assert NAMES_MISSING not in answer(by, messages, "lethe").report.warnings
    assert len(extractor.texts) == len(set(extractor.texts))


def test_without_a_cue_the_default_path_asks_nothing():
    extractor = WordList("payments api")
    answer(orchestrator(extractor), chat("thank you"))
    assert extractor.texts == []


@pytest.mark.parametrize("policy", ["relevance", "lethe", "lethus"])
def test_orchestrators_of_one_memory_do_not_meet(policy):
    memory = PipelineMemory()
    first = orchestrator(WordList("payments api", name="one"), memory=memory)
    one = whole(answer(first, policy=policy))
    plain = whole(answer(orchestrator(memory=memory), policy=policy))
    assert plain == whole(answer(orchestrator(), policy=policy)) != one
    other = orchestrator(WordList("sand", name="other"), memory=memory)
    fresh = orchestrator(WordList("sand", name="other"))
    assert whole(answer(other, policy=policy)) == whole(answer(fresh, policy=policy))
    assert whole(answer(first, policy=policy)) == one


def same_but_warned(answered, plain, warning):
    told = answered.report.to_dict()
    assert told["warnings"].count(warning) == 1
    told["warnings"] = [w for w in told["warnings"] if w != warning]
    return bytes_of([sent_by(answered), told]) == whole(plain)


@pytest.mark.parametrize("policy", ["stable", "relevance", "lethe", "lethus"])
@pytest.mark.parametrize("fault", [BackendError("away"), ZeroDivisionError()])
def test_a_failing_extractor_leaves_our_own_names(policy, fault):
    by = orchestrator(WordList("payments api", fault=fault))
    plain = answer(orchestrator(), policy=policy)
    assert same_but_warned(answer(by, policy=policy), plain, NAMES_MISSING)


def test_who_was_late_is_not_asked_again_in_a_request():
    messages = tenants("when does our tenant pay for it?")  # a pronoun, and two hops
    gate = threading.Event()
    extractor = WordList("green house", gate=gate)
    by = orchestrator(extractor, structure_timeout=0.3)
    assert same_but_warned(answer(by, messages), answer(orchestrator(), messages), NAMES_MISSING)
    gate.set()
    by.drain()
    known = set(extractor.texts)
    answer(by, messages)
    assert set(extractor.texts) > known


def test_a_failing_judge_leaves_likeness():
    by = orchestrator(judge=Contradicts("app", "login", fault=BackendError("away")))
    plain = answer(orchestrator(), policy="lethe")
    assert same_but_warned(answer(by, policy="lethe"), plain, STANCES_MISSING)


def test_a_late_extractor_is_not_waited_for():
    gate = threading.Event()
    by = orchestrator(WordList("payments api", gate=gate), structure_timeout=0.5)
    assert same_but_warned(answer(by), answer(orchestrator()), NAMES_MISSING)
    gate.set()
    by.drain()
    assert whole(answer(by)) == whole(answer(orchestrator(WordList("payments api"))))


def test_a_deadline_ends_the_wait():
    gate = threading.Event()
    extractor = WordList("payments api", gate=gate)
    by = orchestrator(extractor, structure_timeout=60)
    asked = Conversation.from_openai_messages(chat())
    answered = by.process_sync(asked, policy="relevance", expired=lambda: bool(extractor.texts))
    gate.set()
    assert same_but_warned(answered, answer(orchestrator()), NAMES_MISSING)


def test_prepare_asks_for_all_of_a_chat():
    extractor = WordList("payments api")
    by = orchestrator(extractor)
    assert by.prepare_sync(Conversation.from_openai_messages(chat()))
    known = len(extractor.texts)
    assert score(answer(by)) > score(answer(orchestrator()))
    assert len(extractor.texts) == known
    broken = orchestrator(WordList(fault=BackendError("away")))
    assert not broken.prepare_sync(Conversation.from_openai_messages(chat()))


def test_a_contradiction_leads_the_walk_away():
    """Of two like messages the question's words are nearer to the first, which holds no more."""
    facts = [
        user("the port of the database is 5432"),
        assistant("ok"),
        *filler(8),
        user("no, the database listens at port 6000"),
        assistant("ok"),
        *filler(8, 8),
        user("the port of the database?"),
    ]
    place = next(i for i, m in enumerate(facts) if "6000" in said(m))
    judge = Contradicts("5432", "6000")
    plain = answer(orchestrator(), facts, "lethe")
    judged = answer(orchestrator(judge=judge), facts, "lethe")
    assert (facts[0]["content"], facts[place]["content"]) in judge.pairs
    assert score(judged, place) < score(plain, place)
    again = orchestrator(judge=judge)
    answer(again, facts, "lethe")
    judge.pairs.clear()
    assert whole(answer(again, facts, "lethe")) == whole(judged)
    assert judge.pairs == []


@pytest.mark.parametrize("value", [WordList, "spacy", object(), Contradicts("a")])
def test_what_is_no_extractor_is_refused(value):
    with pytest.raises(SettingsError, match="entity_extractor"):
        orchestrator(value)


@pytest.mark.parametrize("value", [Contradicts, "nli", object(), WordList("a")])
def test_what_is_no_judge_is_refused(value):
    with pytest.raises(SettingsError, match="stance_judge"):
        orchestrator(judge=value)


@pytest.mark.parametrize("value", [-1, "1", True, float("nan"), 0])
def test_the_time_out_is_seconds(value):
    with pytest.raises(SettingsError, match="structure_timeout"):
        orchestrator(WordList("a"), structure_timeout=value)
