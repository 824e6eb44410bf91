"""Labels made ahead of any question, and meaning at the gate of recall."""

from __future__ import annotations

import pytest

from ask import ask, bytes_of, sent_by
from eunoe import ContextOrchestrator, Conversation, TokenBudget
from eunoe.domain.settings import POLICY_NAMES
from eunoe.pipeline.advisers.labelling import (
    LABEL_AHEAD_LEAST,
    LABEL_AHEAD_MOST,
    LABEL_AHEAD_WAIT,
    HistoryLabeller,
)
from eunoe.pipeline.chat.transcript import PipelineMemory
from judge import ThirdsCounter

BUDGET = 2000
FACT = "The keypad at the gate wants 4711"


class Labeller:
    """Says K of texts with a word, D of all others."""

    name = "words"

    def __init__(self, word="4711", worst=0.05):
        self.word, self.worst, self.asked = word, worst, []

    def label(self, question, messages):
        """The worth of each message."""
        self.asked.append((question, [text for _, text in messages]))
        return [1.0 if self.word in text else self.worst for _, text in messages]


class Meanings:
    """Texts on getting in are alike; all others are alike a little."""

    name = "meanings"
    dimension = 3

    def embed(self, texts):
        """One vector for each text."""
        return [
            [1.0, 0.1, 0.0] if "4711" in t or "enter" in t else [0.1, 1.0, len(t) % 7 / 9.0]
            for t in texts
        ]


def chat(question, turns=200):
    raw = [{"role": "user", "content": FACT}, {"role": "assistant", "content": "Noted."}]
    for i in range(turns):
        raw.append({"role": "user", "content": f"draft number {i} of the letter on matter {i % 9}"})
        raw.append({"role": "assistant", "content": f"here is draft {i} of that letter, as asked"})
    return [*raw, {"role": "user", "content": question}]


def orchestrator(**more):
    return ContextOrchestrator(
        TokenBudget(BUDGET), token_counter=ThirdsCounter(), memory=PipelineMemory(), **more
    )


def conversation(question, session="c", turns=200):
    raw = chat(question, turns)
    return Conversation.from_openai_messages(raw, session_id=session)


def fates(by, question, session="c"):
    report = by.process_sync(conversation(question, session), model_id="gpt-4o").report
    return [str(d.fate) for d in report.decisions], report


# The gate


@pytest.mark.parametrize("question", ["How do I enter?", "Tell me the way to enter."])
def test_a_paraphrase_brings_back_what_words_miss(question):
    assert fates(orchestrator(), question)[0][0] == "dropped"
    found, report = fates(orchestrator(embedder=Meanings(), embed_in_request=True), question)
    assert found[0] == "recalled"
    assert "meaning" in report.recall_reason
    assert report.tokens_after <= BUDGET


@pytest.mark.parametrize("question", ["What else?", "Thanks, next letter.", "Ok, and the draft?"])
def test_other_turns_are_as_without_vectors(question):
    plain = ask(chat(question), BUDGET, by=orchestrator())
    beside = ask(
        chat(question), BUDGET, by=orchestrator(embedder=Meanings(), embed_in_request=True)
    )
    assert bytes_of(sent_by(beside)) == bytes_of(sent_by(plain))


def test_meaning_keeps_the_prefix():
    """What meaning brings back stands in the free room: the window begins where it did."""
    question = "How do I enter?"
    plain = ask(chat(question), BUDGET, by=orchestrator()).report
    beside = ask(
        chat(question), BUDGET, by=orchestrator(embedder=Meanings(), embed_in_request=True)
    ).report
    assert beside.cut == plain.cut


# Behind the answer


def test_a_request_may_leave_embedding_to_others():
    embedder = Meanings()
    by = orchestrator(embedder=embedder, embed_behind=False)
    fates(by, "What else?")
    by.drain()
    assert fates(by, "How do I enter?")[0][0] == "dropped"
    assert by.prepare_sync(conversation("What else?"), ahead=True)
    assert fates(by, "How do I enter?")[0][0] == "recalled"


class Asking(Meanings):
    """Tells questions from texts."""

    name = "asking"

    def __init__(self):
        self.questions, self.texts = [], []

    def embed(self, texts):
        """One vector for each text; the question's own would find nothing."""
        self.texts += texts
        return [[0.0, 0.0, 1.0] if "enter" in t else v for t, v in _with(texts, super().embed)]

    def embed_question(self, texts):
        """One vector for each question."""
        self.questions += texts
        return super().embed(texts)


def _with(texts, embed):
    return list(zip(texts, embed(texts), strict=True))


@pytest.mark.parametrize("prepared", [True, False])
def test_questions_are_embedded_as_questions(prepared):
    embedder, question = Asking(), "How do I enter?"
    by = orchestrator(embedder=embedder, embed_in_request=not prepared)
    if prepared:
        assert by.prepare_sync(conversation(question))
    asked = list(embedder.questions)
    assert fates(by, question)[0][0] == "recalled"
    assert set(embedder.questions) == {question}
    assert not prepared or embedder.questions == asked == [question]
    assert FACT in embedder.texts


# Labels ahead


async def test_labels_ahead_are_asked_once_and_without_a_question():
    labeller = Labeller()
    by = orchestrator(labeller=labeller)
    for _ in range(2):
        assert await by.prepare(conversation("What else?", turns=60), ahead=True)
    assert [question for question, _ in labeller.asked] == [""]
    assert FACT in labeller.asked[0][1]


def test_few_new_messages_wait_for_more():
    labeller = Labeller()
    by = orchestrator(labeller=labeller)
    by.prepare_sync(conversation("What else?", turns=LABEL_AHEAD_LEAST // 2 - 2), ahead=True)
    assert labeller.asked == []
    by.prepare_sync(conversation("What else?", turns=LABEL_AHEAD_LEAST), ahead=True)
    assert len(labeller.asked) == 1


def test_after_a_fault_the_labeller_is_left_alone_for_a_while():
    now, memory = [0.0], PipelineMemory()
    labeller = Labeller(worst=None)  # the fault: `in` is asked of None
    labeller.word = None
    desk = HistoryLabeller(labeller, memory.labels, clock=lambda: now[0])
    entries = memory.contents("").read_all(chat("x")[:-1])
    asked = []
    for at in (0.0, 1.0, LABEL_AHEAD_WAIT - 1, LABEL_AHEAD_WAIT + 1):
        now[0], before = at, len(labeller.asked)
        assert not desk.prepare_ahead(entries, "c")
        asked.append(len(labeller.asked) - before)
    assert asked == [1, 0, 0, 1]


def test_a_long_chat_is_labelled_in_several_steps():
    labeller = Labeller()
    by = orchestrator(labeller=labeller)
    for _ in range(5):
        assert by.prepare_sync(conversation("x", turns=200), ahead=True)
    sizes = [len(texts) for _, texts in labeller.asked]
    assert max(sizes) <= LABEL_AHEAD_MOST
    assert sizes[0] == LABEL_AHEAD_MOST
    assert len({text for _, texts in labeller.asked for text in texts}) == sum(sizes) > 390


@pytest.mark.parametrize("session", ["other", None])
def test_labels_ahead_belong_to_their_chat(session):
    by = orchestrator(labeller=Labeller("letter"))
    assert by.prepare_sync(conversation("x", "c"), ahead=True)
    question = "Which code does the keypad at the gate want?"
    mine = fates(by, question, "c")[1].to_dict()
    theirs = fates(by, question, session)[1].to_dict()
    plain = fates(orchestrator(), question, session)[1].to_dict()
    assert theirs["decisions"] == plain["decisions"]
    assert mine["decisions"] != plain["decisions"]


def test_a_chat_without_a_name_is_not_labelled_ahead():
    labeller = Labeller()
    orchestrator(labeller=labeller).prepare_sync(conversation("x", None), ahead=True)
    assert labeller.asked == []


def test_labels_ahead_are_no_evidence_by_themselves():
    by = orchestrator(labeller=Labeller())
    by.prepare_sync(conversation("x"), ahead=True)
    for question in ("How do I enter?", "Thanks.", "Weather?"):
        assert fates(by, question)[0] == fates(orchestrator(), question)[0]


@pytest.mark.parametrize("policy", POLICY_NAMES)
@pytest.mark.parametrize("ahead", [True, False])
def test_drop_takes_away_neither_pins_nor_systems_nor_the_question(policy, ahead):
    raw = chat("Which letter was number 7?")
    raw[4] = {"role": "user", "content": "!pin The letters go out on Friday."}
    raw = [{"role": "system", "content": "Be kind."}, *raw]
    given = Conversation.from_openai_messages(raw, session_id="c")
    by = orchestrator(labeller=Labeller("nothing holds this"))
    assert by.prepare_sync(given, ahead=ahead)
    sent = by.process_sync(given, model_id="gpt-4o", policy=policy).conversation
    text = str(sent.to_openai_messages())
    for needed in ("Be kind.", "Friday", "Which letter was number 7?"):
        assert needed in text


@pytest.mark.parametrize("policy", ["relevance", "stable"])
def test_all_alike_labels_change_no_order(policy):
    """One label for all says nothing: it moves all by the same."""
    raw = chat("Which letter was on matter 7?")
    given = Conversation.from_openai_messages(raw, session_id="c")
    by = orchestrator(labeller=Labeller("nothing holds this", worst=0.5))
    by.prepare_sync(given, ahead=True)
    plain = orchestrator().process_sync(given, model_id="gpt-4o", policy=policy)
    beside = by.process_sync(given, model_id="gpt-4o", policy=policy)
    assert bytes_of(sent_by(beside)) == bytes_of(sent_by(plain))
