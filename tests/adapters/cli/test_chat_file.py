"""Files in every accepted form, and what is said about the others."""

from __future__ import annotations

import codecs
import gzip
import io
import json
import sys
from types import SimpleNamespace

import pytest

from eunoe import ChatFileError
from eunoe_cli.chat_file import read_chats

HELLO = {"role": "user", "content": "Grüß Gott"}
ANSWER = {"role": "assistant", "content": "Hello"}


@pytest.mark.parametrize(
    ("value", "names", "sizes"),
    [
        pytest.param([HELLO, ANSWER], ["chat.json"], [2], id="a list"),
        pytest.param({"messages": [HELLO]}, ["chat.json"], [1], id="an object"),
        pytest.param(
            {"title": "Bread", "messages": [HELLO]}, ["chat.json (Bread)"], [1], id="with a title"
        ),
        pytest.param(
            [{"messages": [HELLO]}, {"id": "x", "messages": [HELLO, ANSWER]}],
            ["chat.json #1", "chat.json #2 (x)"],
            [1, 2],
            id="several objects",
        ),
    ],
)
def test_json_forms(write, value, names, sizes):
    chats = read_chats(write(value))
    assert [c.name for c in chats] == names
    assert [len(c.messages) for c in chats] == sizes
    assert chats[0].messages[0] == HELLO


def test_a_transcript_a_line(write):
    text = "\n".join(json.dumps({"messages": [HELLO] * n}) for n in (1, 2, 3)) + "\n\n"
    assert [len(c.messages) for c in read_chats(write(text, "a.jsonl"))] == [1, 2, 3]


def test_a_message_a_line(write):
    [chat] = read_chats(write(f"{json.dumps(HELLO)}\n\n{json.dumps(ANSWER)}\n", "a.jsonl"))
    assert chat.messages == [HELLO, ANSWER]
    assert chat.name == "a.jsonl"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["\u2028", "\u2029", "\x85"])
def test_marks_within_a_text_end_no_line(write, mark, end):
    said = {"role": "user", "content": f"one{mark}two"}
    text = end.join(json.dumps(m, ensure_ascii=False) for m in (said, ANSWER))
    [chat] = read_chats(write(text, "a.jsonl"))
    assert chat.messages == [said, ANSWER]


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(gzip.compress(json.dumps([HELLO]).encode()), id="packed"),
        pytest.param(json.dumps([HELLO], ensure_ascii=False).encode("utf-16"), id="UTF-16"),
        pytest.param(
            codecs.BOM_UTF16_BE + json.dumps([HELLO], ensure_ascii=False).encode("utf-16-be"),
            id="UTF-16, the other way",
        ),
    ],
)
def test_other_bytes_of_the_same_text(tmp_path, data):
    (tmp_path / "a.json").write_bytes(data)
    assert read_chats(str(tmp_path / "a.json"))[0].messages == [HELLO]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        pytest.param(gzip.compress(b"[]")[:-9], "broken gzip", id="broken off"),
        pytest.param(b"\x1f\x8b" + b"x" * 30, "broken gzip", id="no gzip"),
        pytest.param(gzip.compress(b"\xff\xff"), "UTF", id="no text in it"),
        pytest.param(codecs.BOM_UTF16_LE + b"[", "no whole UTF-16", id="half a character"),
    ],
)
def test_bytes_that_are_no_text(tmp_path, data, words):
    (tmp_path / "a.json").write_bytes(data)
    with pytest.raises(ChatFileError, match=words):
        read_chats(str(tmp_path / "a.json"))


def test_a_list_a_line(write):
    text = "\n".join(json.dumps([HELLO] * n) for n in (1, 2))
    assert [len(c.messages) for c in read_chats(write(text))] == [1, 2]


def test_tools_and_a_byte_order_mark(write):
    tools = [{"type": "function", "function": {"name": "f"}}]
    path = write("\ufeff" + json.dumps({"messages": [HELLO], "tools": tools}))
    assert read_chats(path)[0].tools == tools


def test_standard_input(monkeypatch):
    data = io.BytesIO(json.dumps([HELLO]).encode())
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=data))
    [chat] = read_chats("-")
    assert (chat.name, chat.messages) == ("standard input", [HELLO])


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        pytest.param("", "", "empty", id="nothing"),
        pytest.param("[1,", "line 1 column 4", "no JSON", id="half a list"),
        pytest.param('{"a": 1}', "", "object without messages", id="an object of something else"),
        pytest.param("17", "", "found int", id="a number"),
        pytest.param("[]", "messages", "list is empty", id="no message"),
        pytest.param('[{"role": "user"}, 3]', "messages[1]", "found int without a role", id="3"),
        pytest.param(
            '{"messages": [{"content": "x"}]}', "messages[0]", "object without a role", id="no role"
        ),
        pytest.param(
            '{"messages": []}\n{"messages": [7]}', "line 1 messages", "empty", id="empty, by line"
        ),
        pytest.param(
            '{"messages": [{"role": "user"}]}\n{"messages": [7]}',
            "line 2 messages[0]",
            "found int",
            id="by line and place",
        ),
        pytest.param('{"role": "user"}\n{"role"', "line 2", "one object a line", id="a torn line"),
        pytest.param('[{"x": 1}]', "[0]", "without messages", id="a list of something else"),
        pytest.param('["a"]', "[0]", "found str", id="a list of texts"),
        pytest.param('{"messages": [{"role":"user"}], "tools": 3}', "tools", "list", id="tools"),
        pytest.param("[" * 100_000, "", "nested too deeply", id="very deep"),
    ],
)
def test_errors_say_where_and_what(write, text, place, words):
    path = write(text)
    with pytest.raises(ChatFileError, match=r"chat\.json") as caught:
        read_chats(path)
    assert caught.value.place == place
    assert words in caught.value.problem
    assert "expected" in caught.value.problem


def test_errors_of_the_file_itself(tmp_path):
    with pytest.raises(ChatFileError, match="no such file"):
        read_chats(str(tmp_path / "none.json"))
    with pytest.raises(ChatFileError, match="is a directory"):
        read_chats(str(tmp_path))
    (tmp_path / "latin.json").write_bytes(b'["\xe4"]')
    with pytest.raises(ChatFileError, match="byte 2: not UTF-8"):
        read_chats(str(tmp_path / "latin.json"))
