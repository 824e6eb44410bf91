"""Results that came in a later turn than their call, where somebody spoke while a tool ran."""

from __future__ import annotations

import pytest

from ask import ask, orchestrator, sent_by
from eunoe import Fate
from judge import count_list, faults, said
from strategies import PROFILE_NAMES, assistant, calling, result, user

FREE_ORDER = [p for p in PROFILE_NAMES if p not in ("mistral", "template")]
LATE = [user("q"), calling("a"), user("hurry!"), result("a", "17 rows"), assistant("done")]


def order(chat, profile="openai", budget=0, **more):
    answer = ask(chat, budget, profile, **more)
    assert faults(sent_by(answer), profile) == []
    return [p.index for p in answer.placements]


@pytest.mark.parametrize("profile", FREE_ORDER)
def test_a_result_behind_the_next_question_goes_to_its_call(profile):
    assert order(LATE[:4], profile) == [0, 1, 3, 2]
    chat = [*LATE, user("next")]
    assert order(chat, profile) == [0, 1, 3, 2, 4, 5]
    answer = ask(chat, profile=profile)
    assert sent_by(answer)[2] is chat[3]
    assert answer.report.mended == ("[3] a result was moved behind its call [1]",)
    assert {d.fate for d in answer.report.decisions} == {Fate.KEPT}


@pytest.mark.parametrize("profile", ["mistral", "template"])
def test_where_roles_alternate_it_is_quoted_with_its_call(profile):
    text = said(sent_by(ask([*LATE, user("next")], profile=profile))[0])
    assert "tool: 17 rows" in text
    assert "no result" not in text


def test_one_of_two_results_may_be_late():
    chat = [user("q"), calling("a", "b", "c"), result("b"), user("r"), result("c"), assistant("x")]
    assert order(chat) == [0, 1, 2, None, 4, 3, 5]
    assert ask(chat).report.mended == (
        "[4] a result was moved behind its call [1]",
        "[1] no result was recorded for a; a stub says so",
    )


@pytest.mark.parametrize(
    "chat",
    [
        pytest.param([user("q"), calling("a"), *LATE], id="two calls of the id"),
        pytest.param([*LATE[:4], result("a", "18 rows")], id="two results of the id"),
        pytest.param([result("a"), user("q"), calling("a"), user("r")], id="before the call"),
        pytest.param([user("q"), calling("a"), result("a"), user("r"), result("a")], id="answered"),
        pytest.param(
            [calling("a"), calling("a", "b"), result("a", "469"), result("a", "aborted")],
            id="a second one of a newer call",
        ),
        pytest.param(
            [user("q"), calling("a"), user("r"), {"role": "function", "name": "a", "content": "x"}],
            id="of a function",
        ),
    ],
)
def test_what_may_be_of_another_call_is_not_moved(chat):
    assert not any("was moved" in sentence for sentence in ask(chat).report.mended)
    assert faults(sent_by(ask(chat)), "openai") == []


@pytest.mark.parametrize("profile", FREE_ORDER)
def test_it_is_quoted_in_its_own_turn_where_its_call_was_cut(profile):
    long = [user("look " * 60), calling("a"), assistant("I wait. " * 40)]
    chat = [*long, user("hurry!"), result("a", "17 rows"), assistant("hm"), user("so?")]
    current = [*long, user("hurry!"), result("a", "17 rows")]
    answer = ask(current, 100, profile)
    assert [p.index for p in answer.placements] == [None, 3]
    assert "17 rows" in said(sent_by(answer)[0])
    assert order(chat, profile, 100) == [3, 5, 6]


def test_it_is_quoted_where_its_call_is_refused():
    """A call without the reasoning that the provider wants back cannot stand in the list."""
    thinking = [user("p"), calling("z", reasoning_content="hm"), result("z"), assistant("ok")]
    answer = ask([*thinking, *LATE[:4]], profile="deepseek")
    assert faults(sent_by(answer), "deepseek", thinking=True) == []
    assert [p.index for p in answer.placements] == [0, 1, 2, 3, 4, None, 6]
    assert "17 rows" in said(sent_by(answer)[5])


def test_moving_it_is_declared_once():
    chat = [user("q"), calling("a"), user("hurry!"), assistant("wait"), user("and?"), result("a")]
    cuts = [ask(chat[:n]).report.cut for n in (3, 5)]
    assert cuts == [None, None]
    assert ask(chat).report.cut.declared
    more = [*chat, assistant("x"), user("s")]
    assert ask(more).report.cut is None


def test_an_id_that_was_used_before_hinders_nothing():
    """The other call has its result, so this one can only be of the call that waits."""
    chat = [user("p"), calling("a"), result("a", "1 row"), assistant("ok"), *LATE]
    assert order(chat) == [0, 1, 2, 3, 4, 5, 7, 6, 8]


@pytest.mark.parametrize("profile", FREE_ORDER)
def test_it_is_quoted_with_a_call_whose_question_a_flag_leaves_out(profile):
    chat = [user("!drop the secret"), *LATE[1:], user("next")]
    answer = ask(chat, profile=profile)
    assert faults(sent_by(answer), profile) == []
    assert [p.index for p in answer.placements] == [2, 4, None, 5]
    assert "17 rows" in said(sent_by(answer)[2])
    now = ask(chat[:4], profile=profile)
    assert faults(sent_by(now), profile) == []


def test_a_result_goes_with_a_call_that_opens_the_list():
    """What comes before it was cut, so it is quoted; no result stays alone at the head."""
    chat = [user("long " * 80), calling("a"), assistant("wait"), user("r"), result("a"), user("s")]
    for budget in range(20, count_list(chat), 7):
        for profile in FREE_ORDER:
            order(chat, profile, budget, on_overflow="keep")


def test_a_remembered_chat_finds_the_same():
    by, chat = orchestrator(), [*LATE, user("next"), calling("b"), user("more"), result("b")]
    for stop in range(1, len(chat) + 1):
        assert sent_by(ask(chat[:stop], by=by)) == sent_by(ask(chat[:stop]))
