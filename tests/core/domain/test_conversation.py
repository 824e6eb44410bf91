from __future__ import annotations

from collections import OrderedDict
from types import MappingProxyType

import pytest
from pydantic import BaseModel

from eunoe.domain.conversation import Conversation
from eunoe.domain.errors import ConversationError


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("hello", "messages is str; allowed: a list of message dicts"),
        (b"hello", "messages is bytes; allowed: a list of message dicts"),
        ({"role": "user"}, "messages is dict; allowed: a list of message dicts"),
        (5, "messages is int; allowed: a list of message dicts"),
        (iter([]), "messages is list_iterator; allowed: a list of message dicts"),
        ([{"role": "user"}, None], "messages[1] is NoneType; allowed: a message dict"),
        (["hello"], "messages[0] is str; allowed: a message dict"),
        ([[]], "messages[0] is list; allowed: a message dict"),
    ],
)
def test_what_is_no_list_of_messages_is_named(given, said):
    with pytest.raises(ConversationError) as caught:
        Conversation.from_openai_messages(given)
    assert str(caught.value) == said


@pytest.mark.parametrize(
    "item",
    [
        {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "found"},
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {"type": "item_reference", "id": "msg_1"},
    ],
)
def test_an_item_that_is_no_message_is_refused_not_left_out(item):
    with pytest.raises(ConversationError, match=r"messages\[1\] is an item of type '\w+' without"):
        Conversation.from_openai_messages([{"role": "user", "content": "q"}, item])


def test_of_an_answer_as_a_client_gives_it_the_dict_is_named():
    class Answer(BaseModel):
        role: str = "assistant"

    with pytest.raises(ConversationError, match=r"Answer; .*its model_dump\(exclude_none="):
        Conversation.from_openai_messages([{"role": "user", "content": "x"}, Answer()])


@pytest.mark.parametrize("given", [None, [], ()])
def test_no_messages_are_an_empty_conversation(given):
    conversation = Conversation.from_openai_messages(given)
    assert conversation.to_openai_messages() == []
    assert len(conversation) == 0


def test_any_mapping_is_a_message_and_comes_back_as_it_is():
    given = [OrderedDict(role="user", content="x"), MappingProxyType({"role": "user"}), {}]
    back = Conversation.from_openai_messages(given).to_openai_messages()
    assert [id(m) for m in back] == [id(m) for m in given]


def test_a_conversation_is_a_value():
    one = Conversation.from_openai_messages([{"role": "user", "content": "x"}], "s")
    two = Conversation.from_openai_messages(({"content": "x", "role": "user"},))
    assert one == two
    assert hash(one) == hash(two)
    assert one != Conversation.from_openai_messages([])
    assert one != [{"role": "user", "content": "x"}]
    assert (list(one), one.session_id) == ([{"role": "user", "content": "x"}], "s")
    one.to_openai_messages().clear()
    assert len(one) == 1
