"""Exports of Open WebUI: the branch in view, tool rounds, pictures, faults."""

from __future__ import annotations

import pytest

from eunoe import ChatFileError, lint
from eunoe_cli.chat_file import read_chats


def stored(key, parent, role, content, **more):
    return {
        "id": key,
        "parentId": parent,
        "childrenIds": [],
        "role": role,
        "content": content,
    } | more


def export(*messages, current=None, **more):
    tree = {m["id"]: m for m in messages}
    history = {"messages": tree, "currentId": current or messages[-1]["id"]}
    return {"id": "c", "title": "Bread", "chat": {"title": "Bread", "history": history, **more}}


def read(write, value):
    [chat] = read_chats(write([value]))
    return chat.messages


def test_the_branch_in_view_is_read(write):
    tree = [
        stored("a", None, "user", "Hi"),
        stored("b1", "a", "assistant", "first answer"),
        stored("b2", "a", "assistant", "regenerated"),
        stored("c", "b1", "user", "go on"),
    ]
    assert [m["content"] for m in read(write, export(*tree))] == ["Hi", "first answer", "go on"]
    assert [m["content"] for m in read(write, export(*tree, current="b2"))] == ["Hi", "regenerated"]


def test_the_name_is_the_title(write):
    value = export(stored("a", None, "user", "Hi"))
    assert read_chats(write([value, value]))[1].name == "chat.json #2 (Bread)"


def test_the_system_prompt_of_the_chat_comes_first(write):
    value = export(stored("a", None, "user", "Hi"), params={"system": "Be kind."})
    assert read(write, value)[0] == {"role": "system", "content": "Be kind."}


def test_the_plain_list_where_there_is_no_tree(write):
    value = {"chat": {"messages": [{"role": "user", "content": "Hi", "id": "x"}]}}
    assert read(write, value) == [{"role": "user", "content": "Hi"}]


def test_a_tool_round_becomes_call_and_result(write):
    output = [
        {"type": "reasoning", "content": []},
        {"type": "message", "content": [{"type": "output_text", "text": "I look."}]},
        {"type": "function_call", "call_id": "1", "name": "look", "arguments": "{}"},
        {"type": "function_call", "call_id": "dead", "name": "look", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "1", "output": [{"text": "seen"}]},
        {"type": "function_call_output", "call_id": "stray", "output": "lost"},
        {"type": "message", "content": [{"type": "output_text", "text": "Done."}]},
    ]
    value = export(
        stored("a", None, "user", "Look"), stored("b", "a", "assistant", "Done.", output=output)
    )
    messages = read(write, value)
    assert [m["role"] for m in messages] == ["user", "assistant", "tool", "assistant"]
    assert messages[1]["content"] == "I look."
    assert messages[1]["tool_calls"][0]["id"] == messages[2]["tool_call_id"] == "1"
    assert messages[2]["content"] == "seen"
    assert lint(messages, "openai") == ()


def test_reasoning_is_not_sent_and_an_empty_answer_is_none(write):
    thought = '<details type="reasoning" done="true">\nhm\n</details>\nYes.'
    value = export(
        stored("a", None, "user", "Hi"),
        stored("b", "a", "assistant", thought),
        stored("c", "b", "user", "And?"),
        stored("d", "c", "assistant", ""),
    )
    assert [m["content"] for m in read(write, value)] == ["Hi", "Yes.", "And?"]


def test_pictures_become_parts(write):
    files = [{"type": "image", "url": "data:image/png;base64,AA"}, {"type": "file", "id": "f"}]
    [message] = read(write, export(stored("a", None, "user", "See", files=files)))
    assert [part["type"] for part in message["content"]] == ["text", "image_url"]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        pytest.param(export(stored("b", "a", "user", "x")), "not in the tree", id="no parent"),
        pytest.param(export(stored("a", "a", "user", "x")), "its own ancestor", id="a loop"),
        pytest.param({"chat": {}}, "found neither", id="nothing"),
    ],
)
def test_faults_say_where(write, value, words):
    with pytest.raises(ChatFileError, match=words) as caught:
        read(write, value)
    assert caught.value.place.startswith("[0] chat")
