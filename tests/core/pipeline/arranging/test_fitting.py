"""A current turn that is larger than the budget: stubs, clips, and what on_overflow says."""

from __future__ import annotations

import pytest

from ask import ask, orchestrator, sent_by
from eunoe import BudgetError, Cut, Fate, SettingsError
from judge import count, count_list, faults, said
from strategies import PROFILE_NAMES, assistant, calling, image, part, result, user

SYSTEM = {"role": "system", "content": "be brief"}


def loop(steps: int, size: int = 300):
    return [
        m
        for i in range(steps)
        for m in (calling(f"c{i}"), result(f"c{i}", f"row {i} " + "x" * 3 * size))
    ]


def test_the_oldest_results_of_a_running_turn_become_stubs():
    chat = [SYSTEM, user("old"), assistant("older"), user("the task"), *loop(6)]
    answer = ask(chat, 1500)
    fates = [d.fate for d in answer.report.decisions]
    results = [fates[i] for i, m in enumerate(chat) if m["role"] == "tool"]
    assert results[0] is Fate.STUB
    assert results[-1] is Fate.KEPT
    assert results == sorted(results, key=lambda f: f is Fate.KEPT)
    assert [fates[i] for i, m in enumerate(chat) if "tool_calls" in m] == [Fate.KEPT] * 6
    assert (fates[0], fates[3]) == (Fate.KEPT, Fate.KEPT)
    stub = sent_by(answer)[3]
    assert stub["content"] == (
        f"[result elided to save room; {count(chat[5])} tokens. "
        "Call the tool again if it is needed.]"
    )
    assert stub["tool_call_id"] == "c0"
    assert answer.report.truncated
    assert answer.report.cut.declared


def test_a_turn_of_very_many_steps_fits():
    """What a stub takes is counted as it is: a little too much for each adds up."""
    answer = ask([user("the task"), *loop(500, size=60)], 1000)
    assert count_list(sent_by(answer)) <= 1000
    assert sent_by(answer)[0] == user("the task")
    assert answer.report.infeasible is None


LOST = result("lost", "17 rows " * 60)
TWINS = [calling("c", "c", text="I look it up. " * 40), result("c", "17 rows " * 60)]


@pytest.mark.parametrize("profile", PROFILE_NAMES)
@pytest.mark.parametrize("head", [[], [SYSTEM]])
@pytest.mark.parametrize("chat", [[LOST], [result("other"), LOST], TWINS])
def test_where_all_that_is_said_can_only_be_quoted_it_is_quoted_in_part(profile, head, chat):
    """Never a list without anything that was said."""
    answer = ask([*head, *chat], 150, profile)
    said_last = said(sent_by(answer)[-1])
    assert said_last.startswith("<recalled")
    assert "characters left out" in said_last
    assert answer.report.decisions[-1].fate is Fate.GIST
    assert answer.report.truncated
    assert count_list(sent_by(answer)) <= 150
    assert faults(sent_by(answer), profile) == []


def test_what_can_only_be_quoted_and_does_not_fit_is_said():
    with pytest.raises(BudgetError):
        ask([LOST], 20)
    for overflow in ("truncate", "keep"):
        answer = ask([LOST], 20, on_overflow=overflow)
        assert answer.report.infeasible is not None
        assert len(sent_by(answer)) == 1


def test_beside_a_question_what_can_only_be_quoted_goes():
    assert sent_by(ask([user("q"), LOST], 20)) == [user("q")]


def test_stubs_stay_while_the_loop_goes_on():
    chat = [SYSTEM, user("the task"), *loop(12, size=100)]
    before: list[int] = []
    changes = 0
    for stop in range(4, len(chat) + 1, 2):
        report = ask(chat[:stop], 1000).report
        stubs = [d.index for d in report.decisions if d.fate is Fate.STUB]
        assert stubs[: len(before)] == before
        changes += stubs != before
        before = stubs
    assert 0 < changes < 10


def test_a_result_smaller_than_a_stub_stays():
    small = [m for i in range(5) for m in (calling(f"s{i}"), result(f"s{i}", "ok"))]
    chat = [user("the task"), *small, *loop(3)]
    answer = ask(chat, 800)
    fates = {d.index: d.fate for d in answer.report.decisions}
    assert Fate.STUB in fates.values()
    assert all(fates[i] is Fate.KEPT for i, m in enumerate(chat) if m["content"] == "ok")


def test_a_single_result_is_clipped_and_says_so():
    chat = [user("look"), calling("a"), result("a", "head " + "word " * 3000 + " tail")]
    answer = ask(chat, 500)
    sent = sent_by(answer)[2]
    assert sent["content"].startswith("head ")
    assert sent["content"].endswith(" tail")
    assert "characters left out" in sent["content"]
    assert answer.report.decisions[2].fate is Fate.GIST
    assert answer.report.tokens_after <= 500
    assert answer.report.tokens_after > 350


@pytest.mark.parametrize("profile", PROFILE_NAMES)
def test_one_message_larger_than_the_budget(profile):
    chat = [SYSTEM, user("hi"), assistant("ho"), user("begin " + "word " * 5000 + "end?")]
    with pytest.raises(BudgetError) as caught:
        ask(chat, 300, profile)
    assert caught.value.needed == count_list([SYSTEM, chat[3]])
    assert caught.value.allowed == 300

    clipped = ask(chat, 300, profile, on_overflow="truncate")
    text = said(sent_by(clipped)[-1])
    assert text.startswith("begin ")
    assert text.endswith("end?")
    assert clipped.report.truncated
    assert clipped.report.tokens_after <= 300
    assert clipped.report.infeasible is None
    assert sent_by(clipped)[0] is SYSTEM

    kept = ask(chat, 300, profile, on_overflow="keep")
    assert [id(m) for m in sent_by(kept)] == [id(SYSTEM), id(chat[3])]
    assert kept.report.infeasible.needed == caught.value.needed
    assert kept.report.infeasible.allowed == 300
    assert not kept.report.truncated


def test_sources_in_a_question_are_shortened_before_the_question():
    source = "<source id='1'>" + "fact " * 2000 + "</source>"
    chat = [user(f"Use this:\n{source}\nWhat is the third fact?")]
    text = said(sent_by(ask(chat, 400, on_overflow="truncate"))[0])
    assert text.startswith("Use this:\n<source id='1'>fact ")
    assert text.endswith("</source>\nWhat is the third fact?")


def test_a_picture_stays_when_its_text_is_clipped():
    chat = [{"role": "user", "content": [part("see " + "word " * 3000), image()]}]
    answer = ask(chat, 1200, on_overflow="truncate")
    [sent] = sent_by(answer)
    assert sent["content"][1] == image()
    assert "left out" in sent["content"][0]["text"]
    assert answer.report.tokens_after <= 1200


def test_a_picture_that_does_not_fit_is_said_not_to_fit():
    chat = [{"role": "user", "content": [part("see"), image()]}]
    with pytest.raises(BudgetError):
        ask(chat, 300)
    report = ask(chat, 300, on_overflow="truncate").report
    assert report.infeasible is not None


@pytest.mark.parametrize("overflow", ["truncate", "keep"])
@pytest.mark.parametrize("budget", [1, 2, 5, 8])
def test_the_smallest_budgets_never_give_an_empty_chat(overflow, budget):
    answer = ask([SYSTEM, user("what is the time?")], budget, on_overflow=overflow)
    assert any(m["role"] == "user" for m in sent_by(answer))
    assert answer.report.infeasible is not None


@pytest.mark.parametrize(
    ("tools", "reserve", "needed"),
    [
        pytest.param(None, None, 8, id="the message"),
        pytest.param([{"x": "y" * 292}], None, 108, id="and tools larger than the budget"),
        pytest.param(None, 500, 508, id="and a reserve larger than the budget"),
        pytest.param([{"x": "y" * 292}], 500, 608, id="and both"),
    ],
)
def test_the_error_counts_everything_that_takes_room(tools, reserve, needed):
    budget = needed - 1
    with pytest.raises(BudgetError) as caught:
        ask([user("hi")], budget, tools=tools, reserve=reserve)
    assert (caught.value.needed, caught.value.allowed) == (needed, budget)
    assert ask([user("hi")], needed, tools=tools, reserve=reserve).report.tokens_after <= needed
    kept = ask([user("hi")], budget, tools=tools, reserve=reserve, on_overflow="keep").report
    assert (kept.infeasible.needed, kept.infeasible.allowed) == (needed, budget)


def test_a_budget_of_exactly_the_size_changes_nothing_and_one_less_cuts():
    chat = [SYSTEM, user("one " * 40), assistant("two " * 40), user("three")]
    size = count_list(chat)
    assert [id(m) for m in sent_by(ask(chat, size))] == [id(m) for m in chat]
    assert [p.index for p in ask(chat, size - 1).placements] == [0, 3]


@pytest.mark.parametrize("profile", ["openai", "anthropic", "deepseek"])
@pytest.mark.parametrize("policy", ["stable", "window"])
def test_what_mending_adds_costs_the_oldest_turn_and_no_more(profile, policy):
    chat = [m for i in range(4) for m in (user(f"q{i} " * 20), assistant(f"a{i} " * 20))]
    chat += [user("look"), calling("a"), user("never mind"), assistant("fine"), user("and now?")]
    answer = ask(chat, count_list(chat), profile, policy=policy)
    assert [p.index for p in answer.placements] == [*range(2, 10), None, 10, 11, 12]
    assert answer.report.cut == Cut(index=2, tokens_dropped=count_list(chat[:2]) - 3, declared=True)


def test_what_mending_adds_costs_no_system_message():
    late = {"role": "system", "content": "[memory] x"}
    chat = [SYSTEM, user("q0 " * 20), late, assistant("a0 " * 20), user("q1"), assistant("a1")]
    chat += [user("look"), calling("a"), user("never mind"), assistant("fine"), user("and now?")]
    answer = ask(chat, count_list(chat))
    assert [p.index for p in answer.placements] == [0, 2, 4, 5, 6, 7, None, 8, 9, 10]


@pytest.mark.parametrize("profile", ["openai", "anthropic", "deepseek"])
def test_what_mending_adds_does_not_cost_a_pin(profile):
    chat = [m for i in range(4) for m in (user(f"q{i} " * 20), assistant(f"a{i} " * 20))]
    chat[0] = user("!pin the oldest of all")
    chat += [user("look"), calling("a"), user("never mind"), assistant("fine"), user("and now?")]
    answer = ask(chat, count_list(chat) - 1, profile)
    assert [p.index for p in answer.placements] == [0, *range(2, 10), None, 10, 11, 12]


def test_an_unknown_way_to_overflow_names_the_known_ones():
    with pytest.raises(
        SettingsError, match="on_overflow is 'explode'; allowed: raise, truncate, keep"
    ):
        orchestrator(100, on_overflow="explode")


def test_parallel_results_are_clipped_within_bounds():
    ids = [f"c{i}" for i in range(300)]
    chat = [user("look everywhere"), calling(*ids), *(result(i, "x" * 600) for i in ids)]
    need = count_list(chat[:2]) + 300 * 40
    answer = ask(chat, need)
    assert answer.report.tokens_after <= need
    assert [m.get("tool_call_id") for m in sent_by(answer)[2:]] == ids


DEAD = [calling("x", "y", "z"), assistant("hm")]
"""Calls whose stubs take room that no policy has counted."""


@pytest.mark.parametrize("budget", range(200, 420, 5))
def test_of_what_is_quoted_the_least_relevant_gives_way_first(budget):
    words = ["harbour", "violin", "cluster", "refund", "garden", "index", "token"]
    chat = []
    for i in range(8):
        told = " ".join(words[: i % 7 + 1])
        text = f"Tell of {words[i % 7]} number {i} {told} and more " + "and more " * 5
        chat.append(user(text.ljust(150, ".")))  # all of one length: relevance alone decides
        chat.append(assistant(f"The {words[i % 7]} {i} is at {i * 37} " + "so " * 20))
    chat += [user("What of harbour, violin, cluster, refund?"), *DEAD]
    report = ask(chat, budget, "mistral", policy="relevance").report
    users = [d for d in report.decisions if d.index < 16 and d.index % 2 == 0]
    kept = [d.score for d in users if d.fate is Fate.RECALLED]
    gone = [d.score for d in users if d.fate is not Fate.RECALLED]
    assert kept
    assert not gone or min(kept) > max(gone)


def test_of_pins_that_do_not_fit_the_oldest_goes_first():
    chat = [user("!pin " + "old " * 30), assistant("ok"), user("!pin " + "new " * 30)]
    chat += [assistant("ok"), user("q"), *DEAD]
    answer = ask(chat, 150)
    assert [p.index for p in answer.placements] == [2, 4, 5, None, None, None, 6]
    assert answer.report.warnings == (
        "a flag keeps messages that the budget has no room for: the 1st",
    )
