"""What messages and tools take."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eunoe.domain.message import Message, ToolCall
from eunoe.stages.counting.message_cost import (
    MEDIA_TOKENS,
    count_message,
    count_messages_batch,
    count_tools,
)
from eunoe.stages.counting.tokenizer import find_tokenizer

TOKENIZER = find_tokenizer("o200k")


class Characters:
    """A token a character, so that sums can be seen."""

    name = "characters"
    exact = True

    def count(self, text):
        return len(text)

    def count_batch(self, texts):
        return [len(text) for text in texts]


def message(text="", **fields):
    return Message(role=fields.pop("role", "user"), text=text, **fields)


@pytest.mark.parametrize(
    ("value", "tokens"),
    [
        pytest.param(message(), 4, id="nothing but framing"),
        pytest.param(message("12345"), 9, id="text"),
        pytest.param(message("12345", name="ann"), 10, id="name"),
        pytest.param(message(media=("image",)), 769, id="image"),
        pytest.param(message(media=("image_low", "audio")), 389, id="small image and audio"),
        pytest.param(message(media=("video", "file")), 604, id="video and file"),
        pytest.param(message("12", reasoning="345"), 9, id="reasoning"),
        pytest.param(
            message("12", pieces=("12", '{"type":"odd"}'), parts=("text", "odd")), 20, id="pieces"
        ),
        pytest.param(
            message("12", role="assistant", calls=(ToolCall("c", "look", "{}"),)), 16, id="a call"
        ),
        pytest.param(
            message(role="assistant", calls=(ToolCall("c", "a", "{}"), ToolCall("d", "", ""))),
            15,
            id="two calls",
        ),
        pytest.param(
            message("1", pieces=("1",), parts=("text", "image_url"), media=("image",)),
            770,
            id="part and image",
        ),
    ],
)
def test_everything_counts_once(value, tokens):
    assert count_message(value, Characters()) == tokens


@pytest.mark.parametrize(
    ("tools", "tokens"),
    [
        pytest.param(None, 0, id="none"),
        pytest.param([], 0, id="empty"),
        pytest.param([{"name": "é", "n": [1, 2]}], 22, id="compact and not escaped"),
        pytest.param([{"a": 1}, {"b": 2}], 14, id="two"),
        pytest.param([{"a": {1}}], 11, id="no JSON"),
    ],
)
def test_tools_count_as_compact_json(tools, tokens):
    assert count_tools(tools, Characters()) == tokens


def test_a_counter_of_whole_messages_counts_them_itself():
    class Whole(Characters):
        def count_message(self, value):
            return 100 + len(value.text)

    assert count_messages_batch([message("12"), message()], Whole()) == [102, 100]


def test_no_messages_take_nothing():
    assert count_messages_batch([], TOKENIZER) == []
    assert count_messages_batch([message()], TOKENIZER) == [4]


# ------------------------------------------------------------------------------------------ floor
TEXT = st.text(
    alphabet=st.one_of(st.sampled_from(" \n\t.,!:'\"{}ab1"), st.characters(exclude_categories=())),
    max_size=40,
)
CALL = st.tuples(TEXT, TEXT)
CONTENT = st.one_of(
    st.none(), TEXT, st.lists(st.one_of(TEXT, st.sampled_from(sorted(MEDIA_TOKENS))), max_size=5)
)


def tokens_of(text):
    return TOKENIZER.count(text) if text else 0


def floor_of(content, calls, reasoning, name):
    """The least that a message takes, part by part: an account of its own of the same rules."""
    least = 4 + (1 if name else 0)
    for part in [content] if isinstance(content, str) else content or []:
        least += MEDIA_TOKENS[part] if part in MEDIA_TOKENS else tokens_of(part)
    for tool, arguments in calls:
        least += 4 + tokens_of(tool) + tokens_of(arguments)
    return least + tokens_of(reasoning)


def built(content, calls, reasoning, name):
    parts = content if isinstance(content, list) else []
    texts = [part for part in parts if part not in MEDIA_TOKENS]
    return message(
        content if isinstance(content, str) else "\n".join(texts),
        role="assistant",
        name=name,
        calls=tuple(ToolCall(None, *call) for call in calls),
        pieces=tuple(text for text in texts if text),
        reasoning=reasoning,
        media=tuple(part for part in parts if part in MEDIA_TOKENS),
        parts=tuple("image_url" if part in MEDIA_TOKENS else "text" for part in parts),
    )


@given(CONTENT, st.lists(CALL, max_size=3), TEXT, st.one_of(st.none(), TEXT))
def test_no_message_counts_below_the_floor(content, calls, reasoning, name):
    if not TOKENIZER.exact:
        pytest.skip("no vocabulary on this machine")
    value = built(content, calls, reasoning, name)
    assert count_message(value, TOKENIZER) >= floor_of(content, calls, reasoning, name)


@given(st.lists(st.tuples(CONTENT, st.lists(CALL, max_size=2), TEXT, TEXT), max_size=5))
def test_a_batch_counts_as_one_by_one(rows):
    values = [built(*row) for row in rows]
    assert count_messages_batch(values, TOKENIZER) == [
        count_message(value, TOKENIZER) for value in values
    ]


@given(st.lists(st.dictionaries(TEXT, st.one_of(TEXT, st.integers(), st.none())), max_size=3))
def test_tools_count_as_their_json(tools):
    schemas = [json.dumps(tool, ensure_ascii=False, separators=(",", ":")) for tool in tools]
    assert count_tools(tools, TOKENIZER) == sum(map(tokens_of, schemas))
