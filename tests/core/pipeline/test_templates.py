"""User messages that a program writes: forms with a question in them, and the output of a shell."""

from __future__ import annotations

from ask import ask, sent_by
from eunoe import Fate
from judge import said
from strategies import assistant, user

FACT = "The gate code of the garden is 7391, written down by Ines Bright."
FORM = "Be friendly to Ines Bright of the garden.\n{}\nAnswer with a gate code or nothing."
LONG_FORM = FORM + "\n" + "Mind the flowers, the hens, the pond and whoever else is there. " * 8
SHELL = "{}\n(Current directory: /home/ines/garden)\nsh-$"
LISTING = "[File: src/gate_code.py (12 lines)] "


def chat(form: str, *asked: str, fact: str = FACT):
    filler = [
        m
        for i in range(30)
        for m in (user(form.format(f"item {i}: " + "lorem " * 30)), assistant("dolor " * 30))
    ]
    turns = [m for text in asked for m in (user(form.format(text)), assistant("done"))]
    return [user(form.format(fact)), assistant("noted"), *filler, *turns[:-1]]


def recalled(messages):
    decisions = ask(messages, 900).report.decisions
    return {d.index for d in decisions if d.fate is Fate.RECALLED}


def test_a_form_does_not_hide_the_question_in_it():
    messages = chat(LONG_FORM, "What is the code of the gate?")
    assert 0 in recalled(messages)
    assert "7391" in "\n".join(map(said, sent_by(ask(messages, 900))))


def test_a_form_alone_asks_for_nothing():
    assert recalled(chat(FORM, "Thanks, lovely.")) == set()


def test_the_output_of_a_shell_asks_for_nothing():
    assert recalled(chat(SHELL, LISTING, fact=LISTING + FACT)) == set()


def test_the_same_words_of_a_person_do():
    assert 0 in recalled(chat("{}", LISTING, fact=LISTING + FACT))
