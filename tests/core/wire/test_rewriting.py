from __future__ import annotations

import copy

import pytest

from eunoe.wire.rewriting import (
    merged_users,
    missing_result,
    user_message,
    with_content,
    with_prefix_elided,
    with_text_alone,
    with_text_in_front,
    without_half_characters,
)
from strategies import image, part, user

PICTURE = image()


def message(content, **more):
    return {"role": "user", "content": content, "x": [1], **more}


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("old", "new"),
        (None, "new"),
        (5, "new"),
        ([part("a"), PICTURE, part("b")], [part("new"), PICTURE]),
        ([PICTURE], [part("new"), PICTURE]),
        (["a", PICTURE], [part("new"), PICTURE]),
        (
            [{"type": "input_text", "text": "a", "k": 1}],
            [{"type": "input_text", "text": "new", "k": 1}],
        ),
        ([], [part("new")]),
    ],
)
def test_text_is_replaced_and_pictures_stay(content, expected):
    assert with_content(message(content), "new") == message(expected)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("old", "new"),
        (None, "new"),
        ([part("a"), PICTURE, part("b")], [part("new")]),
        ([PICTURE], [part("new")]),
        (["a", PICTURE], [part("new")]),
        (
            [PICTURE, {"type": "input_text", "text": "a", "k": 1}],
            [{"type": "input_text", "text": "new", "k": 1}],
        ),
        ([], [part("new")]),
    ],
)
def test_text_stands_for_everything(content, expected):
    assert with_text_alone(message(content), "new") == message(expected)


@pytest.mark.parametrize(
    ("content", "length", "expected"),
    [
        ("!pin hello", 5, "… hello"),
        ([part("!pin hello"), PICTURE], 5, [part("… hello"), PICTURE]),
        ([PICTURE, part("!pin hello")], 5, [PICTURE, part("… hello")]),
        (["!pin hello"], 5, ["… hello"]),
        ([part(""), part("!pin hello")], 5, [part(""), part("… hello")]),
        (["", "!pin hello"], 5, ["", "… hello"]),
        ([part("!pin"), part("hello")], 5, [part("… "), part("hello")]),
        (None, 5, []),
    ],
)
def test_what_is_taken_from_the_front_leaves_a_mark(content, length, expected):
    assert with_prefix_elided(message(content), length) == message(expected)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("old", "new\n\nold"),
        ("", "new"),
        (None, "new"),
        ([part("a"), PICTURE], [part("new"), part("a"), PICTURE]),
        ([PICTURE], [part("new"), PICTURE]),
        (
            [{"type": "input_text", "text": "a"}],
            [{"type": "input_text", "text": "new"}, {"type": "input_text", "text": "a"}],
        ),
    ],
)
def test_text_goes_in_front_and_the_rest_stays_whole(content, expected):
    assert with_text_in_front(message(content), "new") == message(expected)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("old", [part("new"), PICTURE, part("old")]),
        ("", [part("new"), PICTURE]),
        ([PICTURE, part("old")], [part("new"), PICTURE, PICTURE, part("old")]),
    ],
)
def test_what_is_shown_stands_behind_the_text_in_front(content, expected):
    assert with_text_in_front(message(content), "new", [PICTURE]) == message(expected)
    shown = {"type": "input_image", "image_url": "data:x"}
    front = with_text_in_front(message("old"), "new", [shown])["content"]
    assert front == [
        {"type": "input_text", "text": "new"},
        shown,
        {"type": "input_text", "text": "old"},
    ]


@pytest.mark.parametrize(
    ("one", "two", "expected"),
    [
        ("a", "b", "a\n\nb"),
        ("a", [part("b"), PICTURE], [part("a"), part("b"), PICTURE]),
        ([PICTURE], "b", [PICTURE, part("b")]),
        ("", [PICTURE], [PICTURE]),
        (None, "b", [part("b")]),
    ],
)
def test_two_users_are_merged_with_the_keys_of_the_second(one, two, expected):
    assert merged_users([{**message(one), "y": 2}, message(two)]) == message(expected)


def test_any_number_of_users_is_merged_at_once():
    assert merged_users([user("a"), user("b"), user("c")]) == user("a\n\nb\n\nc")
    mixed = [user("a"), message([PICTURE]), user("c")]
    assert merged_users(mixed)["content"] == [part("a"), PICTURE, part("c")]


def test_half_characters_are_replaced_wherever_they_stand():
    value = {"a\ud83d": ["\udc00x", {"k": ("\ud83d",)}, 5, None, "👩"]}
    assert without_half_characters(value) == {
        "a\ufffd": ["\ufffdx", {"k": ["\ufffd"]}, 5, None, "👩"]
    }


def test_nothing_is_written_into_the_callers_message():
    raw = message([part("!pin a"), PICTURE, part("\ud83d")])
    before = copy.deepcopy(raw)
    with_content(raw, "new")
    with_prefix_elided(raw, 5)
    with_text_in_front(raw, "new")
    merged_users([raw, raw])
    without_half_characters(raw)
    assert raw == before


def test_messages_of_ours():
    assert user_message("x") == user("x")
    assert missing_result("a", "none") == {"role": "tool", "tool_call_id": "a", "content": "none"}
