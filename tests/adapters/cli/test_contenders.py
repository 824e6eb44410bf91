"""Every policy of the comparison: what it may and may not do."""

from __future__ import annotations

import pytest

from eunoe import lint
from eunoe_cli.contenders import CONTENDERS, Contest, plain_window
from eunoe_cli.ruler import Ruler, same_at_start


def contest_of(messages, budget):
    return Contest(messages=messages, budget=budget, ruler=Ruler(messages))


@pytest.mark.parametrize("contender", CONTENDERS, ids=lambda c: c.name)
def test_under_the_budget_nothing_changes(contender, chat):
    choose = contender.start(contest_of(chat, 100_000))
    sent = choose(len(chat))
    assert all(a is b for a, b in zip(sent, chat, strict=True))


@pytest.mark.parametrize("contender", CONTENDERS[1:], ids=lambda c: c.name)
def test_over_the_budget_it_is_cut(contender, chat):
    contest = contest_of(chat, 400)
    sent = contender.start(contest)(len(chat))
    assert len(sent) < len(chat)
    assert sent[0] is chat[0]
    assert sent[-1] is chat[-1]


def test_the_window_takes_whole_units(chat_with_tools):
    ruler = Ruler(chat_with_tools)
    whole = ruler.total(chat_with_tools)
    for budget in range(20, whole + 10):
        sent = plain_window(chat_with_tools, budget, ruler)
        assert lint(sent, "openai") == ()
        assert sent[-1] is chat_with_tools[-1]
        assert ruler.total(sent) <= budget or len(sent) == 1


def test_the_window_keeps_the_task_of_a_running_call(chat_with_tools):
    running = chat_with_tools[:3]
    ruler = Ruler(running)
    assert plain_window(running, ruler.total(running), ruler) == running
    assert plain_window(running, 20, ruler) == running[:1]


def test_the_window_starts_with_a_question(chat):
    sent = plain_window(chat, 300, Ruler(chat))
    assert [m["role"] for m in sent[:2]] == ["system", "user"]


def test_the_window_of_nothing_but_system_messages():
    only = [{"role": "system", "content": "x"}]
    assert plain_window(only, 100, Ruler(only)) == only


def test_equal_starts_are_counted():
    a, b = {"role": "user", "content": "a"}, {"role": "user", "content": "b"}
    assert same_at_start([a, b], [dict(a), b]) == 2
    assert same_at_start([a, b], [a, a]) == 1
    assert same_at_start([], [a]) == 0
