"""What a cut carries over in a chat that acts through tools."""

from __future__ import annotations

from itertools import pairwise

import pytest

from ask import ask, orchestrator, sent_by
from eunoe import Cut, Fate
from eunoe.domain.atom import atom_of
from eunoe.pipeline.arranging.view import View
from eunoe.pipeline.policies.carrying import CarriedOver, put_carried
from eunoe.pipeline.recalling.quoted_block import ShownPart
from judge import count_list, faults, said
from strategies import PROFILE_NAMES, assistant, calling, result, user

BUDGET = 1400
ALTERNATE = ("mistral", "template")


def trip(turns, first="Book my flight."):
    """Turns of a request, a look-up with a value of its own, and an answer without any."""
    messages = [{"role": "system", "content": "You book flights."}]
    for k in range(turns):
        messages += [
            user(first if k == 0 else "And the next one, please."),
            calling(f"call_{k}"),
            result(f"call_{k}", f"reservation RES{k:03d} of ann_lee_{k:03d} " + "seat data " * 20),
            assistant("That is done, as you wished it to be. " * 4),
        ]
    return messages


def blocks(answer):
    return [m for m in sent_by(answer) if m["role"] == "user" and "<recalled" in said(m)]


def asked(messages, **more):
    return ask([*messages, user("Go on.")], BUDGET, **more)


def test_values_from_before_the_cut_stay_in_view():
    answer = asked(trip(30))
    text = "\n".join(map(said, blocks(answer)))
    carried = [d for d in answer.report.decisions if d.fate is Fate.RECALLED]
    assert carried
    assert all("carried over" in d.reason for d in carried)
    assert sum(f"RES{k:03d}" in text for k in range(30)) >= 3
    assert answer.report.tokens_after <= BUDGET
    assert count_list(sent_by(answer)) <= BUDGET


@pytest.mark.parametrize("profile", [p for p in PROFILE_NAMES if p not in ALTERNATE])
def test_the_block_stays_word_for_word_until_the_next_cut(profile):
    before, kept, cuts = None, 0, 0
    messages = trip(40)
    for stop in range(6, len(messages), 4):
        answer = ask(messages[:stop], BUDGET, profile, by=orchestrator(BUDGET))
        assert faults(sent_by(answer), profile) == []
        now = blocks(answer)
        if before and now and not (answer.report.cut and answer.report.cut.declared):
            assert now == before
            kept += 1
        cuts += isinstance(answer.report.cut, Cut) and answer.report.cut.declared
        before = now
    assert kept >= 10
    assert cuts >= 3


@pytest.mark.parametrize("profile", ALTERNATE)
def test_where_roles_alternate_it_rides_in_the_question(profile):
    answer = asked(trip(30), profile=profile)
    assert faults(sent_by(answer), profile) == []
    assert said(sent_by(answer)[-1]).startswith("<recalled")
    assert said(sent_by(answer)[-1]).endswith("Go on.")


def test_the_block_stands_between_the_system_message_and_the_window():
    sent = sent_by(asked(trip(30)))
    assert sent[0]["role"] == "system"
    assert said(sent[1]).startswith("<recalled")
    assert sent[2]["content"] == "And the next one, please."


def test_a_chat_that_talks_carries_nothing():
    messages = trip(3)
    for k in range(40):
        messages += [user(f"Tell me of RES{k:03d} {k} " + "word " * 20), assistant("Yes. " * 20)]
    assert blocks(asked(messages)) == []


def test_what_a_flag_leaves_out_or_keeps_is_not_carried():
    messages = trip(30, first="!drop Book ZZ9999 for me, code QX7788 and TT1234.")
    text = "\n".join(map(said, sent_by(asked(messages))))
    assert "ZZ9999" not in text
    pinned = trip(30, first="!pin Book ZZ9999 for me, code QX7788 and TT1234.")
    text = "\n".join(map(said, sent_by(asked(pinned))))
    assert text.count("ZZ9999") == 1


def test_nothing_is_left_for_it_where_the_setting_says_so():
    assert blocks(asked(trip(30), carry_share=0.0)) == []


def test_a_remembered_chat_carries_the_same():
    by = orchestrator(BUDGET)
    messages = trip(40)
    for stop in range(6, len(messages), 4):
        warm = sent_by(ask(messages[:stop], BUDGET, by=by))
        assert warm == sent_by(ask(messages[:stop], BUDGET))


def test_what_is_recalled_neither_hides_nor_brings_it():
    """While the turn goes on, recall comes and goes; what is carried stays, word for word."""
    asking = [*trip(30), user("What did we say of reservation RES003 of ann_lee_003?")]
    running = [m for k in range(9) for m in (calling(f"run_{k}"), result(f"run_{k}", "out " * 60))]
    answers = [ask([*asking, *running[:n]], BUDGET) for n in range(0, 19, 2)]
    shown = [blocks(answer) for answer in answers]
    assert len(shown[0]) == 2  # what is carried, and what this question needs
    recalled = [said(s[1]) if len(s) > 1 else "" for s in shown]
    assert all(len(then) >= len(now) for then, now in pairwise(recalled))
    assert len(set(recalled)) >= 3  # the steps take its room by halves
    assert recalled[-1] == ""
    assert all(s[0] == shown[1][0] for s in shown[1:])  # the first step cut anew
    # declared: the cut, and each time that less of what was recalled stays
    changed = [then != now for then, now in pairwise(recalled)]
    assert [a.report.cut.declared for a in answers] == [True, *changed]


def test_it_is_left_out_and_said_so_once_the_turn_needs_its_room():
    """Whether something was recalled at the request before or not."""
    for question in ("Go on.", "What did we say of reservation RES003 of ann_lee_003?"):
        asking = [*trip(30), user(question)]
        running = [
            m for k in range(8) for m in (calling(f"run_{k}"), result(f"run_{k}", "out " * 120))
        ]
        answers = [ask([*asking, *running[:n]], BUDGET) for n in range(10, 17, 2)]
        assert [len(blocks(answer)) for answer in answers] == [1, 0, 0, 0]
        assert [answer.report.cut.declared for answer in answers[1:3]] == [True, False]


@pytest.mark.parametrize("budget", range(1240, 1290, 10))
def test_it_gives_way_before_the_window_and_that_is_declared(budget):
    """To stubs that nobody has counted."""
    dead = [calling(*(f"d{i}" for i in range(10))), assistant("hm")]
    answer = ask([*trip(30), user("Go on."), *dead], budget, recall="never")
    counted = ask([*trip(30), user("Go on."), dead[1]], budget, recall="never")
    assert blocks(answer) == []
    assert answer.report.cut.declared
    assert answer.report.cut.index == 105
    assert len(blocks(counted)) == 1


def test_what_is_carried_is_not_recalled_too():
    """Where a running turn cuts anew, what its question recalled may be carried from then on."""
    atoms, part = [atom_of((i,), i) for i in range(4)], ShownPart("in part")
    view = View(in_place=[], quoted=[atoms[0], atoms[2]], parts={2: part, 3: part})
    put_carried(view, CarriedOver(start=4, atoms=(atoms[1], atoms[2]), tokens=20))
    assert view.quoted == [atoms[0]]
    assert view.carried == [atoms[1], atoms[2]]
    assert view.parts == {3: part}
