"""A list in the form of Anthropic's or of Responses: results in a user message are of their calls.

Source: Anthropic docs, Messages API: each ``tool_use`` needs its ``tool_result`` in the next
message, blocks of results stand first in it, and none may stand without its ``tool_use``.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ask import ask, sent_by
from eunoe import BudgetError, Fate, lint
from judge import count_list, faults, result_ids
from strategies import assistant, part, results, user, using

CALL = {"type": "function_call", "call_id": "a", "name": "look", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "a", "output": "17 rows"}

LISTS = {
    "at the end": [user("hi"), using("a"), results("a")],
    "in the past": [user("hi"), using("a"), results("a"), assistant("so"), user("next?")],
    "parallel": [user("hi"), using("a", "b"), results("b", "a")],
    "two messages": [user("hi"), using("a", "b"), results("a"), results("b"), assistant("ok")],
    "with words": [user("hi"), using("a", "b"), results("a", "b", said="and now?")],
    "steps": [user("hi"), using("a"), results("a"), using("b"), results("b"), assistant("so")],
    "same ids": [user("x"), using("a"), results("a"), user("y"), using("a"), results("a")],
    "responses": [
        user("hi"),
        {"role": "assistant", "content": [CALL]},
        {"role": "user", "content": [OUTPUT]},
        assistant("so"),
    ],
    "listed": [
        user("hi"),
        {
            "role": "assistant",
            "content": "let me look",
            "tool_calls": [{"id": "a", "type": "function", "function": {"name": "look"}}],
        },
        results("a"),
    ],
}


@pytest.mark.parametrize("profile", ["anthropic", "openai", "responses", "permissive"])
@pytest.mark.parametrize("name", LISTS)
def test_a_list_that_is_right_goes_out_as_it_came(name, profile):
    messages = LISTS[name]
    if (name, profile) == ("same ids", "responses"):
        messages = messages[:3]  # items have ids of their own there
    answered = ask(messages, 5_000, profile)
    assert sent_by(answered) == messages
    assert answered.report.mended == ()
    assert lint(messages, profile) == ()


@pytest.mark.parametrize(
    ("messages", "code"),
    [
        ([user("hi"), results("a"), assistant("ok")], "orphan"),
        ([user("hi"), using("a"), results("a", "b"), assistant("ok")], "orphan"),
        ([user("hi"), using("a"), results("a", "a"), assistant("ok")], "duplicate-result"),
        ([user("hi"), using("a", "b"), results("a"), assistant("ok")], "unanswered"),
    ],
)
def test_what_is_wrong_is_named_and_mended(messages, code):
    assert code in [v.code for v in lint(messages, "anthropic")]
    sent = sent_by(ask(messages, 5_000, "anthropic"))
    assert lint(sent, "anthropic") == ()
    assert faults(sent, "anthropic") == []


def test_a_result_that_is_missing_among_blocks_is_a_block_before_what_is_said():
    messages = [user("hi"), using("a", "b"), results("a", said="and now?"), assistant("so")]
    sent = sent_by(ask(messages, 5_000, "anthropic"))
    assert [m["role"] for m in sent] == ["user", "assistant", "user", "user", "assistant"]
    assert result_ids(sent[2]) == ["b"]
    assert sent[3] == messages[2]


def test_words_of_a_result_are_found_again():
    talk = [m for i in range(30) for m in (user(f"more {i} " + "x " * 60), assistant("y " * 60))]
    past = [user("look"), using("a"), results("a", text="the gate code is 7391"), assistant("ok")]
    messages = [*past, *talk, user("what is the gate code?")]
    assert "7391" in str(sent_by(ask(messages, 900, "anthropic")))


@given(
    sizes=st.lists(st.integers(1, 300), min_size=1, max_size=6),
    share=st.integers(15, 95),
    said=st.booleans(),
)
def test_a_running_turn_is_shortened_block_by_block(sizes, share, said):
    steps = [
        m
        for i, size in enumerate(sizes)
        for m in (
            using(f"a{i}", f"b{i}"),
            results(f"a{i}", f"b{i}", text="word " * size, said="so?" if said else ""),
        )
    ]
    messages = [user("look it all up"), *steps]
    try:
        answered = ask(messages, count_list(messages) * share // 100, "anthropic")
    except BudgetError:
        return
    sent = sent_by(answered)
    assert faults(sent, "anthropic") == []
    assert lint(sent, "anthropic") == ()
    stubs = [p for p in answered.placements if p.fate is Fate.STUB]
    assert all(result_ids(p.message) == result_ids(messages[p.index]) for p in stubs)


def test_the_turn_began_with_what_was_asked():
    messages = [user("find the gate code"), using("a"), results("a", said="go on")]
    parts = ask(messages, 5_000, "anthropic").report
    assert parts.tokens_after == parts.tokens_before
    longer = [user("old " * 300), assistant("ok"), *messages]
    sent = sent_by(ask(longer, count_list(messages) + 40, "anthropic"))
    assert sent[-3:] == messages
    assert part("go on") in sent[-1]["content"]
