"""Results in blocks of a user message: which calls they answer, and how they are written anew."""

from __future__ import annotations

import pytest

from eunoe.wire.openai import read_message
from eunoe.wire.part_kinds import result_keys
from eunoe.wire.result_blocks import (
    answered_in_blocks,
    result_block,
    speaks_as_user,
    with_results_said,
)
from eunoe.wire.rewriting import missing_result, with_content, with_short_call_ids, with_text_alone
from strategies import image, part, result, results, user

OUTPUT = {"type": "function_call_output", "call_id": "a", "output": "17 rows"}


def block(call_id: str, content: object) -> dict:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content}


def test_a_user_message_with_results_is_a_result():
    message = read_message(results("a", "b", text="17 rows", said="and now?"))
    assert (message.role, message.answered) == ("tool", ("a", "b"))
    assert message.text == "17 rows\n17 rows\nand now?"
    assert read_message({"role": "user", "content": [OUTPUT]}).answered == ("a",)
    assert read_message({"role": "tool", "content": [OUTPUT]}).answered == ("a",)
    twice = read_message({**results("a", "b"), "role": "tool", "tool_call_id": "a"})
    assert twice.answered == ("a", "b")


@pytest.mark.parametrize(
    "raw",
    [
        user("x"),
        {"role": "user", "content": [part("x"), image()]},
        {"role": "user", "content": [{"type": "tool_result", "content": "of no call"}]},
        {"role": "assistant", "content": [block("a", "x")]},
    ],
)
def test_other_messages_are_what_they_were(raw):
    message = read_message(raw)
    assert message.role == raw["role"]
    assert message.answered == (None,)


def test_who_speaks():
    assert speaks_as_user(user("x"))
    assert speaks_as_user({"role": "user", "content": [part("x"), "y", None]})
    assert not speaks_as_user(results("a", said="and now?"))
    assert not speaks_as_user(result("a"))
    assert result_keys("text") is None
    assert result_keys({"type": ["odd"]}) is None
    assert answered_in_blocks("assistant", [OUTPUT]) == ()


@pytest.mark.parametrize("write", [with_content, with_text_alone])
def test_a_shorter_text_leaves_every_call_its_result(write):
    raw = results("a", "b", text="long " * 90, said="and now?")
    written = write(raw, "short")
    assert read_message(written).answered == ("a", "b")
    assert read_message(written).text == "short"
    assert written["content"][0] == block("a", "short")
    assert raw == results("a", "b", text="long " * 90, said="and now?")


def test_pictures_of_results_stay_with_a_clip_and_go_with_a_stub():
    raw = {"role": "user", "content": [block("a", [part("x"), image()]), image(low=True)]}
    assert with_content(raw, "y")["content"] == [
        block("a", [part("y"), image()]),
        image(low=True),
    ]
    assert with_text_alone(raw, "y")["content"] == [block("a", "y")]
    shown = {"role": "user", "content": [{**OUTPUT, "output": [{"type": "input_image"}]}]}
    [written] = with_content(shown, "y")["content"]
    assert written["output"] == [{"type": "input_text", "text": "y"}, {"type": "input_image"}]
    assert with_results_said([part("x")], "y", alone=True) is None


def test_a_missing_result_has_the_form_of_its_like():
    assert missing_result("b", "none", results("a")) == {
        "role": "user",
        "content": [block("b", "none")],
    }
    assert missing_result("b", "none", result("a")) == missing_result("b", "none")
    made = missing_result("b", "none", {"role": "user", "content": [part("x"), OUTPUT]})
    assert made["content"] == [{**OUTPUT, "call_id": "b", "output": "none"}]
    assert result_block("b", "none", user("x")) is None


def test_ids_are_rewritten_in_blocks_of_results_too():
    raw = results("a much too long id", said="and now?")
    written = with_short_call_ids(raw, lambda text: len(text) < 9, 8)
    call = {"id": "a much too long id", "type": "function", "function": {"name": "f"}}
    calls = with_short_call_ids(
        {"role": "assistant", "content": None, "tool_calls": [call]},
        lambda text: len(text) < 9,
        8,
    )
    assert read_message(written).answers == calls["tool_calls"][0]["id"]
    assert written["content"][1:] == raw["content"][1:]
