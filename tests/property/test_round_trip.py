"""Law: reading a list and writing it back gives the same objects, whatever is in them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ask import bytes_of
from eunoe import Conversation
from eunoe.wire.openai import read_message
from strategies import Raw, chats

pytestmark = pytest.mark.property

_KEYS = st.sampled_from(
    ["role", "content", "name", "tool_calls", "tool_call_id", "x", "metadata", "id"]
)
_LEAVES = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=9)
)
_SURROGATES = st.text(st.characters(categories=["Cs", "Ll", "So"]), max_size=5)
_VALUES = st.recursive(
    _LEAVES | _SURROGATES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "text", "id", "image_url", "function"]), inner, max_size=3
        )
    ),
    max_leaves=8,
)
ANY_MESSAGES = st.lists(st.dictionaries(_KEYS, _VALUES, max_size=5), max_size=5)


@settings(max_examples=60)
@given(messages=chats(flags=True, odd=True))
def test_the_same_objects_come_back(messages: list[Raw]):
    before = bytes_of(messages)
    back = Conversation.from_openai_messages(messages).to_openai_messages()
    assert [id(m) for m in back] == [id(m) for m in messages]
    assert bytes_of(back) == before


@settings(max_examples=100)
@given(messages=ANY_MESSAGES)
def test_any_mappings_come_back(messages: list[Raw]):
    conversation = Conversation.from_openai_messages(messages)
    assert conversation.to_openai_messages() == messages
    assert conversation == Conversation.from_openai_messages(list(messages))


@settings(max_examples=150)
@given(messages=ANY_MESSAGES)
def test_reading_never_raises_and_never_writes(messages: list[Raw]):
    before = bytes_of(messages)
    for message in messages:
        read = read_message(message)
        assert read.digest == read_message(dict(message)).digest
        assert isinstance(read.text, str)
    assert bytes_of(messages) == before
