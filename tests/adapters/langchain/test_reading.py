"""Messages of every class as the dicts that planning reads."""

from __future__ import annotations

import copy

import pytest
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    HumanMessageChunk,
    SystemMessage,
    ToolMessage,
    convert_to_messages,
)

from eunoe.wire.openai import read_message
from eunoe_langchain.reading import plan_dict, plan_dicts, role_of

CALL = {"name": "look", "args": {"q": "x"}, "id": "c1", "type": "tool_call"}
RAW_CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"q": "x"}'}}


class Special(HumanMessage):
    """A caller's own subclass."""

    mood: str = "calm"


class Oracle(BaseMessage):
    """A caller's own kind of message."""

    type: str = "oracle"


@pytest.mark.parametrize(
    ("message", "role"),
    [
        (SystemMessage("x"), "system"),
        (convert_to_messages([{"role": "developer", "content": "x"}])[0], "developer"),
        (ChatMessage(role="developer", content="x"), "developer"),
        (ChatMessage(role="user", content="x"), "user"),
        (ChatMessage(role="critic", content="x"), "critic"),
        (HumanMessage("x"), "user"),
        (HumanMessageChunk("x"), "user"),
        (Special("x"), "user"),
        (AIMessageChunk("x"), "assistant"),
        (ToolMessage("x", tool_call_id="c1"), "tool"),
        (FunctionMessage(name="look", content="x"), "function"),
        (Oracle(content="x"), "oracle"),
    ],
)
def test_the_role_is_what_a_provider_sees(message, role):
    assert role_of(message) == role
    assert plan_dict(message)["role"] == role


@pytest.mark.parametrize(
    "message",
    [
        pytest.param(AIMessage("", tool_calls=[CALL]), id="parsed"),
        pytest.param(AIMessage("", additional_kwargs={"tool_calls": [RAW_CALL]}), id="raw"),
        pytest.param(
            AIMessage("", tool_calls=[CALL], additional_kwargs={"tool_calls": [RAW_CALL]}),
            id="parsed and raw",
        ),
        pytest.param(
            AIMessage([{"type": "text", "text": "hm"}], tool_calls=[CALL]), id="beside content"
        ),
        pytest.param(
            AIMessage(
                "",
                invalid_tool_calls=[
                    {"name": "look", "args": '{"q": "x"}', "id": "c1", "error": ""}
                ],
            ),
            id="invalid",
        ),
    ],
)
def test_a_call_beside_the_content_is_read_once(message):
    assert plan_dict(message)["tool_calls"] == [RAW_CALL]


@pytest.mark.parametrize(
    "block",
    [
        {"type": "tool_use", "id": "c1", "name": "look", "input": {"q": "x"}},
        {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "look", "arguments": "{}"},
        {"type": "custom_tool_call", "id": "ct_1", "call_id": "c1", "name": "look", "input": "x"},
    ],
    ids=lambda block: block["type"],
)
def test_a_call_in_the_content_stays_there_and_is_not_repeated(block):
    message = AIMessage([block], tool_calls=[CALL])
    planned = plan_dict(message)
    assert planned["content"][0] is message.content[0]
    assert "tool_calls" not in planned


def test_a_standard_block_gets_its_arguments_as_text():
    planned = plan_dict(AIMessage([{**CALL}]))
    assert planned["content"][0]["arguments"] == '{"q": "x"}'


def test_a_call_of_a_built_in_tool_is_answered_by_its_call_id():
    block = {"type": "computer_call", "id": "cu_1", "call_id": "k", "action": {"type": "click"}}
    assert [c["id"] for c in plan_dict(AIMessage([block]))["tool_calls"]] == ["k"]


def test_reasoning_beside_the_content_is_planned():
    deep = plan_dict(AIMessage("x", additional_kwargs={"reasoning_content": "because"}))
    assert deep["reasoning_content"] == "because"
    old = plan_dict(AIMessage("x", additional_kwargs={"reasoning": {"id": "rs_1", "summary": []}}))
    assert [part["type"] for part in old["content"]] == ["thinking", "text"]
    plain = plan_dict(AIMessage("x", additional_kwargs={"reasoning": "because"}))
    assert plain["reasoning_content"] == "because"


def test_what_integrations_send_outside_the_content_is_planned():
    extras = {
        "refusal": "no",
        "audio": {"id": "a", "data": "AAAA"},
        "tool_outputs": [{"type": "x"}],
    }
    planned = plan_dict(AIMessage("", additional_kwargs=extras))
    assert (planned["refusal"], planned["audio"]) == ("no", {"id": "a"})
    assert planned["content"] == [{"type": "x"}]


def test_the_old_function_call_is_planned_unless_it_repeats_a_tool_call():
    old = {"name": "look", "arguments": "{}"}
    assert (
        plan_dict(AIMessage("", additional_kwargs={"function_call": old}))["function_call"] is old
    )
    both = AIMessage("", tool_calls=[CALL], additional_kwargs={"function_call": old})
    assert "function_call" not in plan_dict(both)


def test_strings_among_the_parts_become_text_and_dicts_stay_the_callers():
    part = {"type": "image_url", "image_url": {"url": "https://x/y.png"}}
    message = HumanMessage(["look", part])
    content = plan_dict(message)["content"]
    assert content[0] == {"type": "text", "text": "look"}
    assert content[1] is message.content[1]


def test_results_in_a_user_message_are_planned_as_they_stand():
    use = [{"type": "tool_use", "id": c, "name": "look", "input": {}} for c in ("a", "b")]
    got = [{"type": "tool_result", "tool_use_id": c, "content": "x"} for c in ("b", "a")]
    planned = plan_dicts([AIMessage(use), HumanMessage([*got, {"type": "text", "text": "so?"}])])
    assert [read_message(raw).answered for raw in planned] == [(None,), ("b", "a")]
    assert [call.id for call in read_message(planned[0]).calls] == ["a", "b"]


def test_a_document_of_plain_text_is_text():
    part = {"type": "text-plain", "text": "long", "mime_type": "text/plain"}
    assert plan_dict(HumanMessage([part]))["content"] == [{"type": "text", "text": "long"}]


def test_an_artifact_is_never_read():
    assert "artifact" not in plan_dict(ToolMessage("x", tool_call_id="c1", artifact=object()))


def test_reading_changes_nothing():
    messages = [
        AIMessage([{"type": "text", "text": "a"}, CALL], tool_calls=[CALL], id="7"),
        ToolMessage("x", tool_call_id="c1"),
    ]
    before = copy.deepcopy([m.__dict__ for m in messages])
    plan_dicts(messages)
    assert [m.__dict__ for m in messages] == before
