"""Mends that reach back into what was sent before are declared; others are not."""

from __future__ import annotations

import pytest

from ask import ask, orchestrator, sent_by
from judge import count_list
from strategies import PROFILE_NAMES, assistant, calling, part, result, user

HEAD_FIRST = ("anthropic", "gemini", "mistral", "template")
SYSTEM = {"role": "system", "content": "be brief"}
LATE = {"role": "system", "content": "[memory] x"}


def declared(chat, profile="openai", **more):
    cut = ask(chat, profile=profile, **more).report.cut
    return cut is not None and cut.declared


def blocks(*content):
    return {"role": "assistant", "content": list(content)}


@pytest.mark.parametrize("policy", ["stable", "off"])
@pytest.mark.parametrize("profile", PROFILE_NAMES)
def test_a_late_system_message_is_declared_once_where_it_moves(profile, policy):
    chat = [SYSTEM, user("q"), assistant("a"), LATE, user("r")]
    assert declared(chat, profile, policy=policy) is (profile in HEAD_FIRST)
    assert not declared([*chat, assistant("b"), user("s")], profile, policy=policy)


def test_a_system_message_behind_others_moves_nothing():
    assert not declared([SYSTEM, LATE, user("q")], "anthropic")
    assert not declared([SYSTEM, user("q"), LATE], "anthropic")  # nothing was sent before


def test_a_dead_call_whose_id_comes_again_is_declared_once():
    chat = [user("q"), calling("a"), user("r")]
    assert not declared(chat)
    again = [*chat, calling("a"), result("a")]
    assert len(sent_by(ask(again))) == len(again) - 1
    assert declared(again)
    assert not declared([*again, assistant("x"), user("s")])


def test_a_dead_call_whose_id_stays_its_own_keeps_its_stub():
    chat = [user("q"), calling("a"), user("r"), calling("b"), result("b")]
    assert not declared(chat)


def test_a_result_that_comes_after_an_answer_is_declared():
    waiting = [user("q"), calling("a"), assistant("wait")]
    assert not declared([*waiting, result("a")])  # no answer was made over a stub
    chat = [*waiting, assistant("still"), result("a")]
    assert declared(chat)
    assert not declared([*chat, assistant("x"), user("r"), assistant("y"), user("s")])


def test_an_item_that_comes_again_is_declared():
    said = {**part("x"), "id": "m"}
    chat = [user("q"), blocks(said), user("r"), blocks({**said, "text": "y"}), user("s")]
    assert declared(chat, "responses")
    assert not declared(chat, "openai")


def test_a_server_tool_that_ran_at_the_end_is_declared_when_it_is_left_out():
    use = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
    chat = [user("q"), blocks(part("x"), use)]
    assert not declared(chat)
    assert declared([*chat, assistant("y"), user("r")])


@pytest.mark.parametrize("profile", ["mistral", "template"])
def test_tool_steps_quoted_before_the_next_question_are_declared(profile):
    chat = [user("q"), calling("a"), result("a"), user("r")]
    assert declared(chat, profile)
    assert not declared([*chat, assistant("x"), user("s")], profile)


@pytest.mark.parametrize("more", [user(" "), SYSTEM])
def test_a_cut_is_declared_where_more_follows_the_question(more):
    """The request that cuts the window is the first one of the turn, not one at the question."""
    turns = [
        m for i in range(40) for m in (user(f"q{i} " + "x" * 90), dict(more), assistant("y" * 90))
    ]
    cuts = [ask(turns[:n], 1500, recall="never").report.cut for n in range(2, len(turns), 3)]
    starts = [cut.index if cut is not None else 0 for cut in cuts]
    moved = [a != b for a, b in zip([0, *starts], starts, strict=False)]
    assert any(moved)
    assert [cut is not None and cut.declared for cut in cuts] == moved


def test_a_declared_mend_keeps_the_place_of_the_window():
    long = [m for i in range(30) for m in (user(f"q{i} " + "x" * 90), assistant("y" * 90))]
    plain = ask([*long, user("q")], 1500, "anthropic", recall="never").report.cut
    late = ask([*long, LATE, user("q")], 1500, "anthropic", recall="never").report.cut
    assert plain is not None
    assert late is not None
    assert (late.index, late.declared) == (plain.index, True)


@pytest.mark.parametrize("profile", [p for p in PROFILE_NAMES if p not in ("mistral", "template")])
def test_room_that_a_quotation_took_and_gives_back_is_declared(profile):
    """What can only be quoted is quoted in its own turn, which costs an older turn its place."""
    chat = [user("q0 " * 40), assistant("a0 " * 40), user("q1"), result("lost", "17 rows " * 8)]
    chat += [assistant("a1"), user("q2")]
    budget = count_list(chat)
    cramped = ask(chat[:4], budget, profile)
    assert [p.index for p in cramped.placements] == [None, 2]
    assert declared(chat[:4], profile, budget=budget)
    assert [p.index for p in ask(chat, budget, profile).placements] == [0, 1, 2, 4, 5]
    assert declared(chat, profile, budget=budget)
    more = [*chat, assistant("a2"), user("q3")]
    assert not declared(more, profile, budget=count_list(more))


def test_a_window_that_grows_back_after_a_question_about_the_past_is_declared():
    chat = [SYSTEM]
    for k in range(60):
        chat += [
            user(
                f"The harbour of town{k} has berth K{k:03d} and a fee of {k} crowns. " + "So. " * 40
            ),
            assistant(f"Noted the harbour of town{k}. " + "Fine. " * 40),
        ]
    chat += [
        user("Which harbour fees did we note in total, from the first town to the last?"),
        assistant("Many."),
        user("Thank you. Now a joke."),
    ]
    worker = orchestrator(3000)
    then = ask(chat[:-2], 3000, by=worker)
    now = ask(chat, 3000, by=worker)
    assert then.report.recalled
    assert then.report.cut.declared
    assert now.report.cut.index < then.report.cut.index
    assert now.report.cut.declared
    assert ask(chat, 3000, by=worker).report.cut.declared  # as often as it is asked
    more = ask([*chat, assistant("Ha."), user("Another one.")], 3000, by=worker)
    assert not more.report.cut.declared
