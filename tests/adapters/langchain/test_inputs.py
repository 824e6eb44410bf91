"""What a chat model takes, and what is refused instead of being misread."""

from __future__ import annotations

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.prompt_values import ChatPromptValue, StringPromptValue

from eunoe_langchain import HistoryOptimizer, to_messages


def test_messages_come_back_as_the_same_objects_in_a_new_list():
    given = [SystemMessage("s"), HumanMessage("h")]
    out = to_messages(given)
    assert out is not given
    assert all(a is b for a, b in zip(out, given, strict=True))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param("hello", [HumanMessage("hello")], id="string"),
        pytest.param(StringPromptValue(text="hello"), [HumanMessage("hello")], id="string prompt"),
        pytest.param(
            ChatPromptValue(messages=[AIMessage("a")]), [AIMessage("a")], id="chat prompt"
        ),
        pytest.param(
            [("human", "a"), ("ai", "b")], [HumanMessage("a"), AIMessage("b")], id="pairs"
        ),
        pytest.param([{"role": "user", "content": "a"}], [HumanMessage("a")], id="dicts"),
        pytest.param(["a", AIMessage("b")], [HumanMessage("a"), AIMessage("b")], id="mixed"),
        pytest.param((HumanMessage("a"),), [HumanMessage("a")], id="tuple"),
        pytest.param([], [], id="empty"),
    ],
)
def test_every_form_that_a_model_takes_is_read(value, expected):
    assert to_messages(value) == expected


@pytest.mark.parametrize(
    ("value", "clue"),
    [
        pytest.param({"messages": []}, "on_key", id="mapping"),
        pytest.param(HumanMessage("a"), "one HumanMessage", id="one message"),
        pytest.param(("human", "a"), "one pair", id="one pair"),
        pytest.param(None, "NoneType", id="nothing"),
        pytest.param(b"abc", "bytes", id="bytes"),
        pytest.param(7, "int", id="number"),
    ],
)
def test_what_would_be_misread_is_refused_with_a_hint(value, clue):
    with pytest.raises(TypeError, match=clue):
        to_messages(value)


def test_an_element_that_is_no_message_is_refused():
    with pytest.raises((ValueError, NotImplementedError)):
        to_messages([{"role": "user"}])


@pytest.mark.parametrize("max_tokens", [60, 50_000])
def test_arguments_of_any_depth_go_through(max_tokens):
    deep = "leaf"
    for i in range(3_000):
        deep = [deep] if i % 2 else {"k": deep}
    call = {"name": "f", "args": {"a": deep}, "id": "c"}
    given = [
        HumanMessage("q"),
        AIMessage("", tool_calls=[call]),
        ToolMessage("r", tool_call_id="c"),
        HumanMessage("and now?", additional_kwargs={"z": deep}),
    ]
    out = HistoryOptimizer(max_tokens=max_tokens, on_overflow="truncate").invoke(given)
    assert out[-1] is given[-1]
    assert len(out) == (4 if max_tokens > 60 else 1)
