from __future__ import annotations

from typing import Any

import pytest

from eunoe.domain.message import ToolCall
from eunoe.wire.openai import media_parts, read_message
from strategies import calling, image, part


@pytest.mark.parametrize(
    ("content", "text", "pieces", "media", "substance"),
    [
        pytest.param("hi", "hi", (), (), 2, id="text"),
        pytest.param("", "", (), (), 1, id="empty text"),
        pytest.param(" \n", " \n", (), (), 1, id="blank text"),
        pytest.param(None, "", (), (), 0, id="none"),
        pytest.param([], "", (), (), 0, id="no parts"),
        pytest.param([part("a"), part("b")], "a\nb", ("a", "b"), (), 2, id="two texts"),
        pytest.param([part(""), part(" ")], " ", (" ",), (), 1, id="blank parts"),
        pytest.param([{"type": "input_text", "text": "a"}], "a", ("a",), (), 2, id="input_text"),
        pytest.param(["a", "b"], "a\nb", ("a", "b"), (), 2, id="plain strings"),
        pytest.param([5, None], "5\nNone", ("5", "None"), (), 2, id="no mappings"),
        pytest.param([["a"]], "['a']", ("['a']",), (), 2, id="nested lists"),
        pytest.param([image()], "", (), ("image",), 2, id="picture"),
        pytest.param([image(low=True)], "", (), ("image_low",), 2, id="small picture"),
        pytest.param(
            [{"type": "input_image", "image_url": "https://x", "detail": "low"}],
            "",
            (),
            ("image_low",),
            2,
            id="responses picture",
        ),
        pytest.param(
            [{"type": "image_url", "image_url": "x"}], "", (), ("image",), 2, id="picture by text"
        ),
        pytest.param([{"type": "input_audio"}], "", (), ("audio",), 2, id="audio"),
        pytest.param([{"type": "video_url"}], "", (), ("video",), 2, id="video"),
        pytest.param([{"type": "file"}], "", (), ("file",), 2, id="file"),
        pytest.param([{"type": "document"}], "", (), ("file",), 2, id="document"),
        pytest.param([{"type": "refusal", "refusal": "no"}], "no", ("no",), (), 2, id="refusal"),
        pytest.param(
            [{"type": "text", "text": None}],
            "",
            ('{"type": "text", "text": null}',),
            (),
            1,
            id="no text",
        ),
        pytest.param([{"type": 3}], "", ('{"type": 3}',), (), 2, id="odd type"),
        pytest.param([{}], "", ("{}",), (), 2, id="an empty part"),
        pytest.param(
            [{"type": "hologram", "k": {(1, 2): "é"}}],
            "",
            ("{'type': 'hologram', 'k': {(1, 2): 'é'}}",),
            (),
            2,
            id="keys that JSON cannot hold",
        ),
        pytest.param(
            [{"type": "x", "data": "A" * 900}],
            "",
            ('{"type": "x", "data": ""}',),
            (),
            2,
            id="base64 is no text",
        ),
        pytest.param(5, "5", ("5",), (), 2, id="a number"),
        pytest.param(0, "0", ("0",), (), 2, id="nought"),
        pytest.param({"text": "x"}, '{"text": "x"}', ('{"text": "x"}',), (), 2, id="a mapping"),
    ],
)
def test_content_is_read(content, text, pieces, media, substance):
    read = read_message({"role": "user", "content": content})
    assert (read.text, read.pieces, read.media) == (text, pieces, media)
    assert read.shape.substance == substance


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        ({"role": "user", "content": "x"}, ""),
        ({"role": "user"}, ""),
        ({"role": "critic", "content": "x"}, ""),
        ({"content": "x"}, "role is missing"),
        ({"role": "", "content": "x"}, "role is missing"),
        ({"role": None, "content": "x"}, "role is missing"),
        ({"role": 5, "content": "x"}, "role is missing"),
        ({"role": "user", "content": 5}, "content is int"),
        ({"role": "user", "content": {}}, "content is dict"),
        ({"role": "user", "content": ()}, ""),
        ({"role": "user", "content": {"a"}}, "content is set"),
        ({}, "role is missing"),
    ],
)
def test_what_is_no_message_says_why(raw, problem):
    assert read_message(raw).shape.problem == problem


def function(call_id: Any, name: Any = "look", arguments: Any = "{}") -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def said(**fields: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": None, **fields}


CALLS = [
    pytest.param(
        said(tool_calls=[function("a"), function("b")]),
        [("a", "look", "{}"), ("b", "look", "{}")],
        id="two",
    ),
    pytest.param(said(tool_calls=[function(7)]), [("7", "look", "{}")], id="a whole number as id"),
    pytest.param(said(tool_calls=[function(None)]), [(None, "look", "{}")], id="no id"),
    pytest.param(said(tool_calls=[function("a", None, None)]), [("a", "", "")], id="no name"),
    pytest.param(
        said(tool_calls=[function("a", "f", {"q": "é"})]),
        [("a", "f", '{"q": "é"}')],
        id="arguments as mapping",
    ),
    pytest.param(
        said(tool_calls=[function("a", "f", {(1,): 2})]),
        [("a", "f", "{(1,): 2}")],
        id="odd arguments",
    ),
    pytest.param(
        said(tool_calls=[{"id": "a", "type": "custom", "custom": {"name": "sh", "input": "ls"}}]),
        [("a", "sh", "ls")],
        id="custom",
    ),
    pytest.param(
        said(tool_calls=["x", None, {"id": "a", "function": 3}]), [("a", "", "")], id="nonsense"
    ),
    pytest.param(said(tool_calls=None), [], id="null"),
    pytest.param(said(tool_calls={"id": "a"}), [], id="no list"),
    pytest.param(
        said(content=[{"type": "tool_use", "id": "t", "name": "f", "input": {"q": 1}}]),
        [("t", "f", '{"q": 1}')],
        id="tool_use block",
    ),
    pytest.param(
        said(
            content=[
                {
                    "type": "function_call",
                    "id": "fc",
                    "call_id": "c",
                    "name": "f",
                    "arguments": "{}",
                }
            ]
        ),
        [("c", "f", "{}")],
        id="function_call block",
    ),
    pytest.param(
        said(content=[{"type": "function_call", "id": "fc", "name": "f"}]),
        [("fc", "f", "")],
        id="without call_id",
    ),
    pytest.param(
        said(content=[{"type": "custom_tool_call", "call_id": "c", "name": "f", "input": "x"}]),
        [("c", "f", "x")],
        id="custom_tool_call block",
    ),
    pytest.param(
        said(content=[{"type": "tool_use", "id": "a", "name": "look"}], tool_calls=[function("a")]),
        [("a", "look", "{}")],
        id="in both places once",
    ),
    pytest.param(
        said(content=[{"type": "tool_use", "id": "b", "name": "f"}], tool_calls=[function("a")]),
        [("a", "look", "{}"), ("b", "f", "")],
        id="in both places",
    ),
    pytest.param(
        said(function_call={"name": "f", "arguments": "{}"}), [("f", "f", "{}")], id="old field"
    ),
    pytest.param(said(function_call="f"), [], id="old field of another type"),
    pytest.param(
        said(function_call={"name": "f"}, tool_calls=[function("a")]),
        [("a", "look", "{}")],
        id="old and new",
    ),
    pytest.param(
        {"role": "user", "content": "x", "tool_calls": [function("a")]},
        [],
        id="a user calls nothing",
    ),
]


@pytest.mark.parametrize(("raw", "calls"), CALLS)
def test_calls_are_read_once_each(raw, calls):
    assert read_message(raw).calls == tuple(ToolCall(*c) for c in calls)


@pytest.mark.parametrize(
    ("raw", "answers"),
    [
        ({"role": "tool", "tool_call_id": "a", "content": "x"}, "a"),
        ({"role": "tool", "tool_call_id": 7, "content": "x"}, "7"),
        ({"role": "tool", "content": "x"}, None),
        ({"role": "tool", "name": "look", "content": "x"}, None),
        ({"role": "function", "name": "look", "content": "x"}, "look"),
    ],
)
def test_results_name_their_call(raw, answers):
    read = read_message(raw)
    assert (read.answers, read.is_result) == (answers, True)


def test_blocks_of_an_assistant_have_a_shape():
    thinking = {"type": "thinking", "thinking": "hm"}
    use = {"type": "server_tool_use", "id": "s"}
    got = {"type": "web_search_tool_result", "tool_use_id": "s"}

    def shape(*content: dict[str, Any], role: str = "assistant"):
        return read_message({"role": role, "content": list(content)}).shape

    assert (shape(thinking, part("x")).thinks, shape(thinking, part("x")).thinking_late) == (
        True,
        False,
    )
    assert shape(part("x"), thinking).thinking_late
    assert not shape(part("x"), thinking, role="user").thinking_late
    assert shape(use).server_use_open
    assert shape(got).server_result_alone
    assert not shape(use, got).server_use_open
    assert not shape(use, got).server_result_alone
    assert shape({"type": "mcp_tool_use", "id": "s"}).server_use_open
    assert not shape(use, role="user").server_use_open
    assert shape({"type": "reasoning"}).reasoning_last
    assert not shape({"type": "reasoning"}, part("x")).reasoning_last
    assert shape({**part("x"), "id": "m1"}, {**part("y"), "id": 2}, part("z")).item_ids == (
        "m1",
        "2",
    )
    assert shape({**part("x"), "id": "m1"}, role="user").item_ids == ()
    assert shape({"type": "mcp_approval_request", "id": "m"}).asks_approval == ("m",)
    approves = {"type": "mcp_approval_response", "approval_request_id": "m"}
    assert shape(approves, role="user").approves == ("m",)


@pytest.mark.parametrize(
    "fields",
    [
        {"content": "\ud83d"},
        {"content": [part("\udc00")]},
        {"content": "x", "name": "\ud83d"},
        {"content": "x", "k": {"\ud83d": 1}},
    ],
)
def test_half_characters_are_found_anywhere(fields):
    assert read_message({"role": "user", **fields}).shape.half_character
    assert not read_message({"role": "user", "content": "👩"}).shape.half_character


def test_thinking_is_a_piece_and_no_text():
    content = [{"type": "thinking", "thinking": "hm"}, part("x")]
    read = read_message({"role": "assistant", "content": content, "reasoning_content": "so"})
    assert (read.text, read.pieces, read.reasoning) == ("x", ("hm", "x"), "so")
    assert read.shape.reasoning_field
    assert read_message(
        {"role": "assistant", "content": "x", "reasoning_content": None}
    ).shape.reasoning_field
    assert (
        read_message({"role": "assistant", "content": "x", "reasoning_content": 5}).reasoning == ""
    )


def test_digests_are_of_the_content_and_not_of_the_hosts_ids():
    plain = read_message({"role": "user", "content": "x"})
    assert len(plain.digest) == 24
    assert plain.digest == read_message({"content": "x", "role": "user"}).digest
    one = read_message({"role": "user", "content": "x", "name": "ann", "id": "1", "timestamp": 5})
    two = read_message({"name": "ann", "role": "user", "content": "x", "id": "2"})
    assert one.digest == two.digest
    assert one.digest != read_message({"role": "user", "content": "x", "name": "bob"}).digest
    assert plain.digest != read_message({"role": "assistant", "content": "x"}).digest


def test_names_are_texts():
    assert read_message({"role": "user", "content": "x", "name": "ann"}).name == "ann"
    for name in ("", None, 5):
        assert read_message({"role": "user", "content": "x", "name": name}).name is None


def test_a_call_is_something_even_without_text():
    assert read_message(calling("a")).shape.substance == 2
    for field in ({"function_call": {"name": "f"}}, {"refusal": "no"}, {"audio": {"id": "x"}}):
        assert read_message({"role": "assistant", "content": None, **field}).shape.substance == 2


def test_a_result_block_is_read_by_what_it_says_and_shows():
    shown = {"type": "image", "source": {"type": "base64", "data": "QUJD" * 900}}
    blocks = [
        {"type": "tool_result", "tool_use_id": "a", "content": "17 rows"},
        {
            "type": "tool_result",
            "tool_use_id": "b",
            "content": [{"type": "text", "text": "x"}, shown],
        },
        {"type": "tool_result", "tool_use_id": "c"},
    ]
    message = read_message({"role": "user", "content": blocks})
    assert message.pieces == ("17 rows", "x")
    assert message.media == ("image",)
    assert media_parts({"role": "user", "content": blocks}) == [shown]
    assert message.text == "17 rows\nx"


@pytest.mark.parametrize(
    "content", ["text", None, [], [part("x"), "y", None, {"type": "tool_use", "id": "a"}]]
)
def test_text_and_calls_are_no_media(content):
    assert media_parts({"role": "user", "content": content}) == []
