"""Tuples and objects of a client's library are read as the lists and dicts that are sent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from pydantic import BaseModel

from ask import ask, sent_by
from eunoe.domain.nesting import json_text, model_fields, with_strings_changed
from eunoe.pipeline.chat.memory import content_key
from eunoe.wire.given_forms import content_given, fields_given, row_given
from eunoe.wire.openai import media_parts, read_message
from eunoe.wire.rewriting import with_content, with_short_call_ids
from strategies import Raw, calling, image, part, result, results, user, using


class Body(BaseModel):
    name: str
    arguments: str


class Call(BaseModel):
    id: str
    function: Body
    index: int | None = None


class Block(BaseModel):
    type: str
    text: str | None = None
    id: str | None = None
    name: str | None = None
    input: dict[str, Any] | None = None


class Nameless(Mapping[str, Any]):
    """A mapping that says nothing of what it holds when it is written."""

    def __init__(self, **held: Any) -> None:
        self._held = held

    def __getitem__(self, key: str) -> Any:
        return self._held[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._held)

    def __len__(self) -> int:
        return len(self._held)


CALL = Call(id="a", function=Body(name="look", arguments="{}"))
TOLD = [Block(type="text", text="let me look"), Block(type="tool_use", id="a", name="f", input={})]


@pytest.mark.parametrize(
    ("given", "row"),
    [
        ([{"a": 1}, "b"], [{"a": 1}, "b"]),
        (({"a": 1}, "b"), [{"a": 1}, "b"]),
        ([CALL], [{"id": "a", "function": {"name": "look", "arguments": "{}"}}]),
        ([5, None], [5, None]),
        ((), []),
        ("text", None),
        ({"a": 1}, None),
        (None, None),
    ],
)
def test_a_row_of_parts(given, row):
    assert row_given(given) == row
    assert content_given({"content": given}) == (given if row is None else row)


def test_a_list_of_dicts_is_no_copy():
    parts = [part("x")]
    assert row_given(parts) is parts


class Unwritable:
    def model_dump(self, **_: object) -> dict[str, Any]:
        raise ValueError("not now")


class Oddly:
    def model_dump(self, **_: object) -> str:
        return "no fields"


@pytest.mark.parametrize("value", [5, "x", Call, Unwritable(), Oddly(), None])
def test_what_has_no_fields_has_none(value):
    assert model_fields(value) is None
    assert fields_given(value) is None


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        ({"role": "assistant", "content": None, "tool_calls": [CALL]}, result("a")),
        ({"role": "assistant", "content": None, "tool_calls": (CALL,)}, result("a")),
        ({**calling("a"), "tool_calls": tuple(calling("a")["tool_calls"])}, result("a")),
        ({"role": "assistant", "content": TOLD}, results("a")),
        ({"role": "assistant", "content": tuple(using("a")["content"])}, results("a")),
        ({"role": "assistant", "content": using("a")["content"]}, results("a")),
        (
            {"role": "assistant", "content": using("a")["content"]},
            {"role": "user", "content": tuple(results("a")["content"])},
        ),
        (
            {"role": "assistant", "content": None, "function_call": Body(name="f", arguments="")},
            {"role": "function", "name": "f", "content": "1"},
        ),
    ],
)
def test_calls_keep_their_results_in_whatever_form_they_come(answer: Raw, found: Raw):
    chat = [user("look"), answer, found]
    done = ask(chat)
    assert done.report.mended == ()
    assert [id(m) for m in sent_by(done)] == [id(m) for m in chat]


def test_a_picture_in_a_tuple_is_one():
    raw = {"role": "user", "content": (part("see"), image())}
    assert read_message(raw).media == ("image",)
    assert media_parts(raw) == [image()]
    assert with_content(raw, "new")["content"] == [part("new"), image()]


def test_ids_that_need_no_change_leave_calls_as_they_came():
    raw = {"role": "assistant", "content": None, "tool_calls": (CALL,)}
    assert with_short_call_ids(raw, lambda text: True, 9) == raw
    short = with_short_call_ids(raw, lambda text: False, 9)["tool_calls"]
    assert [len(call["id"]) for call in short] == [9]


def test_what_a_mapping_holds_tells_contents_apart():
    one, other = ({"role": "user", "content": [Nameless(type="text", text=t)]} for t in "ab")
    assert read_message(one).digest != read_message(other).digest
    where = repr(one["content"][0]).encode()
    keys = [content_key(m).replace(repr(m["content"][0]).encode(), where) for m in (one, other)]
    assert keys[0] != keys[1]


def test_json_and_changed_strings_reach_into_mappings_tuples_and_models():
    value = {"k": (Nameless(text="x"), Body(name="y", arguments="z"))}
    plain = {"k": [{"text": "x"}, {"name": "y", "arguments": "z"}]}
    assert json_text(value) == json_text(plain)
    assert with_strings_changed(value, str.upper) == with_strings_changed(plain, str.upper)
    deep: Any = value
    for _ in range(30_000):
        deep = [deep]
    assert json_text(plain)[5:] in json_text(deep)
