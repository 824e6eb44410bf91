"""What is too long to come back whole comes back in part, in the room that is left."""

from __future__ import annotations

import pytest

from ask import ask, sent_by
from eunoe import Fate
from judge import faults, said
from strategies import PROFILE_NAMES, assistant, calling, result, user

SYSTEM = {"role": "system", "content": "be brief"}
RULE = "57. For Helsinki the hotel limit is 183 euro a night."
POLICY = "\n".join(
    RULE if i == 57 else f"{i}. Trips to region {i} are paid by the day, ask the lead first."
    for i in range(120)
)
QUESTION = "What is the hotel limit for Helsinki?"


def chat(*opening, question=QUESTION):
    filler = [
        m
        for i in range(40)
        for m in (user(f"note {i}: the train was late again"), assistant("noted, thanks"))
    ]
    return [SYSTEM, *opening, *filler, user(question)]


def gists(answer):
    return [d.index for d in answer.report.decisions if d.fate is Fate.GIST]


PASTED = (user("our travel rules:\n" + POLICY), assistant("read"))
CALLED = (user("read the travel rules"), calling("a"), result("a", POLICY), assistant("read"))


@pytest.mark.parametrize("policy", ["stable", "relevance"])
@pytest.mark.parametrize("profile", PROFILE_NAMES)
@pytest.mark.parametrize(("opening", "place"), [(PASTED, 1), (CALLED, 3)])
def test_the_part_that_matters_comes_back(policy, profile, opening, place):
    answer = ask(chat(*opening), 700, profile, policy=policy)
    sent = sent_by(answer)
    text = "\n".join(map(said, sent))
    assert RULE in text
    assert " (excerpt): …" in text
    assert "region 100" not in text
    assert faults(sent, profile) == []
    assert answer.report.tokens_after <= 700
    assert gists(answer) == [place]
    assert answer.report.recalled == answer.report.counts().get(Fate.RECALLED, 0) + 1
    assert "shortened to what matters" in answer.report.decisions[place].reason


@pytest.mark.parametrize("policy", ["stable", "relevance"])
def test_no_room_no_excerpt(policy):
    for budget in range(60, 420, 20):
        answer = ask(chat(*PASTED), budget, policy=policy)
        assert answer.report.tokens_after <= budget
        if budget < 100:
            assert gists(answer) == []


def test_short_messages_are_not_cut():
    answer = ask(chat(user(RULE), assistant("noted")), 500)
    assert gists(answer) == []


def test_a_pinned_or_dropped_message_gives_no_excerpt():
    for flag in ("!drop ", "!pin "):
        answer = ask(chat(user(flag + "our rules:\n" + POLICY), assistant("read")), 700)
        assert gists(answer) == []


def test_nothing_in_common_gives_no_excerpt():
    assert gists(ask(chat(*PASTED, question="!recall zebra?"), 700)) == []


def test_the_excerpt_stays_while_the_turn_runs():
    messages = [*chat(*PASTED), calling("z"), result("z", "done")]
    first, later = ask(messages[:-2], 900), ask(messages, 900)
    block = next(p.message for p in first.placements if p.index is None)
    assert block in [p.message for p in later.placements]


NOTES = (
    "The lift is inspected in autumn. Bring a coat.",
    "Der Aufzug wird im Herbst geprüft. Nimm einen Mantel mit.",
    "El ascensor se revisa en otoño. Lleva un abrigo.",
)


@pytest.mark.parametrize("policy", ["stable", "relevance"])
@pytest.mark.parametrize(
    ("notes", "fact", "asked"),
    [
        (
            NOTES[0],
            "The emergency valve is behind the left panel.",
            "Where is the emergency valve?",
        ),
        (NOTES[1], "Der Ersatzschlüssel liegt im Blumentopf.", "Wo liegt der Ersatzschlüssel?"),
        (NOTES[2], "La llave inglesa está en el sótano.", "¿Dónde está la llave inglesa?"),
    ],
)
def test_one_sentence_of_a_long_answer_comes_back_where_nothing_else_answers(
    policy, notes, fact, asked
):
    long = " ".join([notes] * 40 + [fact] + [notes] * 40)
    answer = ask(
        chat(user("tell me about the house"), assistant(long), question=asked), 900, policy=policy
    )
    assert fact in "\n".join(map(said, sent_by(answer)))
    assert answer.report.tokens_after <= 900
