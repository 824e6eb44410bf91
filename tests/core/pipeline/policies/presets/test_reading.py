"""What presets see of a request, and what becomes of their plans."""

from __future__ import annotations

import pytest

from ask import ask, orchestrator, sent_by
from eunoe import Conversation, Fate
from eunoe.pipeline.policies.presets.reading import first_sentence
from eunoe.pipeline.policies.presets.registry import PRESETS
from judge import faults, said
from strategies import PROFILE_NAMES, assistant, calling, result, user

SYSTEM = {"role": "system", "content": "be brief"}
FACT = "the gate code of the garden is 7391"
QUESTION = "what is the gate code of the garden?"
NAMES = sorted(PRESETS)


def filler(count: int):
    return [
        m
        for i in range(count)
        for m in (user(f"item {i}: " + "lorem " * 30), assistant("dolor " * 30))
    ]


def chat(question=QUESTION, fact=FACT):
    return [SYSTEM, user(fact), assistant("noted"), *filler(24), user(question)]


def text_of(answer) -> str:
    return "\n".join(map(said, sent_by(answer)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One thing. And another.", "One thing. …"),
        ("One thing", ""),
        ("", ""),
        ("first line\nsecond line", "first line …"),
    ],
)
def test_the_first_sentence(text, expected):
    assert first_sentence(text) == expected


@pytest.mark.parametrize("profile", PROFILE_NAMES)
@pytest.mark.parametrize("name", NAMES)
def test_the_fact_is_sent_in_every_profile(name, profile):
    answer = ask(chat(), 700, profile, policy=name)
    assert FACT in text_of(answer)
    assert faults(sent_by(answer), profile) == []
    assert answer.report.policy == name
    assert answer.report.tokens_after <= 700


def test_lethe_stands_in_one_block_from_the_first_question_to_the_last_turn():
    answer = ask(chat(), 700, policy="lethe")
    sent = sent_by(answer)
    assert [m["role"] for m in sent] == ["system", "user", "user"]
    lines = said(sent[1]).split("\n")
    assert lines[1] == f"1 user: {FACT}"
    assert lines[-2].startswith("25 assistant")
    score = [answer.report.decisions[i].score for i in range(1, 51)]
    assert max(score) == score[0]


def test_lethe_shows_long_messages_by_their_first_sentence():
    long = FACT + ", keep it. " + "There is more to say about it. " * 60
    answer = ask(chat(fact=long), 700, policy="lethe")
    assert answer.report.decisions[1].fate is Fate.GIST
    assert f"user (excerpt): {FACT}, keep it. …" in text_of(answer)


@pytest.mark.parametrize("name", ["dycp", "lethus"])
def test_silence_sends_the_last_turns_and_says_so(name):
    messages = chat("zebra?")
    for turns in (1, 3):
        asked = orchestrator(1200, recency_fallback_turns=turns)
        report = ask(messages, 1200, by=asked, policy=name).report
        assert "recency fallback" in report.recall_reason
        kept = [d.index for d in report.decisions if d.fate is Fate.KEPT]
        assert kept == [0, *range(51 - 2 * turns, 52)]


def test_relevance_sends_the_newest_turns_when_nothing_speaks_to_the_question():
    report = ask(chat("zebra?"), 1200, policy="relevance").report
    assert "recency fallback" in report.recall_reason
    kept = [d.index for d in report.decisions if d.fate is Fate.KEPT]
    assert set(range(45, 52)) <= set(kept)


@pytest.mark.parametrize("name", NAMES)
def test_pins_drops_and_weights(name):
    pinned = ask([SYSTEM, user("!pin remember pluto"), *chat()[1:]], 700, policy=name)
    assert "remember pluto" in text_of(pinned)
    dropped = ask(chat(fact="!drop " + FACT), 700, policy=name)
    assert FACT not in text_of(dropped)
    plain = ask(chat(), 700, policy=name).report.decisions[1].score
    weighed = ask(chat(fact="!weight=0.1 " + FACT), 700, policy=name).report.decisions[1].score
    assert weighed <= plain
    newest = ask(chat("!context=3 " + QUESTION), 700, policy=name).report
    assert {d.index for d in newest.decisions if d.fate is not Fate.DROPPED} <= {0, *range(47, 52)}


@pytest.mark.parametrize("name", NAMES)
def test_calls_stay_with_their_results(name):
    steps = [calling("a"), result("a", FACT), assistant("so it is")]
    messages = [SYSTEM, user("look it up"), *steps, *filler(24), user(QUESTION)]
    for budget in range(100, 900, 100):
        answer = ask(messages, budget, policy=name)
        fates = [answer.report.decisions[i].fate for i in (2, 3)]
        assert fates[0] == fates[1]


@pytest.mark.parametrize("name", NAMES)
def test_a_chat_that_fits_is_left_alone(name):
    messages = chat()
    sent = sent_by(ask(messages, 100_000, policy=name))
    assert all(a is b for a, b in zip(sent, messages, strict=True))


@pytest.mark.parametrize("name", NAMES)
def test_once_the_time_is_over_the_newest_turns_are_sent(name):
    answer = orchestrator(700).process_sync(
        Conversation.from_openai_messages(chat()), policy=name, expired=lambda: True
    )
    assert "deadline" in answer.report.warnings[0]
