"""Settings that bend relevance act on the policies that rank, and only when they are asked for."""

from __future__ import annotations

import pytest

from ask import ask
from strategies import assistant, calling, result, user

FACT = "the gate code of the garden is 7391"
QUESTION = "what is the gate code of the garden?"


def chat(flags: str = ""):
    filler = [
        m
        for i in range(20)
        for m in (user(f"item {i}: " + "lorem " * 30), assistant("dolor " * 30))
    ]
    return [
        user("look up the gate code of the garden"),
        calling("a"),
        result("a", FACT),
        assistant("here you are"),
        *filler,
        user(flags + QUESTION),
    ]


def scores(flags: str = "", **settings) -> list[float]:
    report = ask(chat(flags), 700, policy="relevance", **settings).report
    return [report.decisions[i].score for i in range(4)]


def test_off_unless_asked_for():
    assert scores() == scores(pair_coherence=0.0, tool_penalty=1.0)


@pytest.mark.parametrize("how", [{"tool_penalty": 0.5}, {"flags": "!tool_penalty=0.5 "}])
def test_calls_and_results_count_less(how):
    plain, bent = scores(), scores(**how)
    assert bent[1:3] == pytest.approx([x / 2 for x in plain[1:3]], abs=1e-6)
    assert [bent[0], bent[3]] == pytest.approx([plain[0], plain[3]], abs=1e-6)


@pytest.mark.parametrize("how", [{"pair_coherence": 1.0}, {"flags": "!pair_coherence=1 "}])
def test_question_and_answer_share_over_tool_steps(how):
    plain, bent = scores(), scores(**how)
    assert bent[0] == bent[3] == pytest.approx(max(plain[0], plain[3]), abs=1e-6)
    assert bent[1:3] == pytest.approx(plain[1:3], abs=1e-6)


def test_a_flag_goes_before_the_setting():
    assert scores("!tool_penalty=1 ", tool_penalty=0.0) == scores()


def test_the_price_of_length():
    long = FACT + " " + "and the pond is deep " * 30
    short = "the garden has a gate"
    filler = [m for _ in range(20) for m in (user("lorem " * 30), assistant("dolor " * 30))]
    messages = [user(long), assistant("noted"), user(short), assistant("yes"), *filler]

    def fate(exponent: float) -> list[str]:
        asked = [*messages, user(QUESTION)]
        report = ask(asked, 260, policy="relevance", cost_exponent=exponent).report
        return [str(report.decisions[i].fate) for i in (0, 2)]

    assert fate(0.0) == ["kept", "kept"]
    assert fate(1.0) == ["gist", "kept"]


@pytest.mark.parametrize("policy", ["relevance", "lethes", "dycp", "lethus"])
@pytest.mark.parametrize("budget", range(70, 300, 10))
def test_what_gives_way_is_not_what_matters_most(policy, budget):
    filler = [m for _ in range(20) for m in (user("lorem " * 30), assistant("dolor " * 30))]
    messages = [user("hello"), assistant("the gate?"), user(FACT), assistant("yes"), *filler]
    decisions = ask([*messages, user(QUESTION)], budget, policy=policy).report.decisions
    assert str(decisions[2].fate) in ("kept", "recalled")
