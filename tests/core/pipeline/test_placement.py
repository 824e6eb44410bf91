"""The order of the quoted block, as settings and policies say."""

from __future__ import annotations

import re

import pytest

from ask import ask, sent_by
from judge import faults, said
from strategies import PROFILE_NAMES, assistant, user

FACTS = (
    "the gate code of the garden is 7391",
    "the garden has a pond",
    "there is a code on the door",
    "the gate is green",
)


def chat():
    filler = [
        m
        for i in range(20)
        for m in (user(f"item {i}: " + "lorem " * 30), assistant("dolor " * 30))
    ]
    facts = [m for fact in FACTS for m in (user(fact), assistant("noted"))]
    return [*facts, *filler, user("!recall what is the gate code of the garden?")]


def numbers(answer) -> list[int]:
    block = next(said(m) for m in sent_by(answer) if said(m).startswith("<recalled"))
    return [int(n) for n in re.findall(r"^(\d+) user:", block, re.MULTILINE)]


@pytest.mark.parametrize("profile", PROFILE_NAMES)
def test_the_most_relevant_stand_at_both_ends_with_their_turns(profile):
    plain = ask(chat(), 700, profile)
    shaped = ask(chat(), 700, profile, placement="u_shape")
    assert faults(sent_by(shaped), profile) == []
    assert numbers(plain) == sorted(numbers(plain))
    assert sorted(numbers(shaped)) == numbers(plain)
    score = {i // 2 + 1: shaped.report.decisions[i].score for i in range(0, 8, 2)}
    assert numbers(shaped)[-1] == max(numbers(plain), key=lambda n: score.get(n, 0.0))
    assert numbers(shaped) != numbers(plain)
    assert [d.fate for d in shaped.report.decisions] == [d.fate for d in plain.report.decisions]
