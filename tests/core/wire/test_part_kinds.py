"""What a part is; what is read as a message's text is what a shorter one takes the place of."""

from __future__ import annotations

import pytest

from ask import ask, sent_by
from eunoe.wire.openai import read_message
from eunoe.wire.part_kinds import block_type, call_key, media_kind, result_keys, said_key
from eunoe.wire.rewriting import with_content, with_prefix_elided, with_short_call_ids
from judge import count_list
from strategies import assistant, calling, part, result, results, user, using


@pytest.mark.parametrize(
    ("block", "key"),
    [
        (part("x"), "text"),
        ({"text": "no type"}, "text"),
        ({"type": "hologram", "text": "x"}, "text"),
        ({"type": "text", "text": None}, "text"),
        ({"type": "text"}, None),
        ({"type": "refusal", "refusal": "no"}, "refusal"),
        ({"type": "refusal", "refusal": None}, None),
        ({"type": "thinking", "text": "x"}, None),
        ({"type": "image_url", "text": "x"}, None),
        ({"type": "tool_use", "text": "x"}, None),
        ({"type": "tool_result", "text": "x"}, None),
        ({"type": "hologram"}, None),
    ],
)
def test_what_a_part_says(block, key):
    assert said_key(block) == key


@pytest.mark.parametrize(
    ("block", "key"),
    [
        ({"type": "tool_use", "id": "a"}, "id"),
        ({"type": "tool_use", "call_id": "a"}, "id"),
        ({"type": "function_call", "call_id": "a"}, "call_id"),
        ({"type": "function_call", "id": "a"}, "id"),
        (part("x"), None),
        ("x", None),
        (None, None),
    ],
)
def test_a_call_has_its_id_under_a_key(block, key):
    assert call_key(block) == key


def test_a_part_is_one_thing():
    assert block_type({}) == ""
    assert block_type({"type": 5}) == "5"
    assert result_keys({"type": "function_call_output"}) == ("call_id", "output")
    assert media_kind({"type": "input_image", "detail": "low"}) == "image_low"
    assert media_kind(part("x")) is None


@pytest.mark.parametrize(
    "content",
    [
        [{"text": "old"}],
        [{"type": "refusal", "refusal": "old"}],
        [{"type": "hologram", "text": "old"}, {"type": "hologram", "k": 1}],
        ["old", 5, None, {"text": "old"}],
        [{"type": "tool_result", "tool_use_id": "a", "content": [{"text": "old"}, {"k": 1}]}],
    ],
)
def test_a_new_text_stands_in_place_of_all_that_was_read(content):
    raw = {"role": "user", "content": content}
    assert read_message(raw).text.startswith("old")
    assert read_message(with_content(raw, "new")).text == "new"


def test_the_first_text_loses_its_prefix_whatever_says_it():
    for content in ([{"refusal": "!pin a"}], [{"type": "image_url", "text": "b"}, part("!pin a")]):
        raw = {"role": "user", "content": content}
        assert read_message(raw).text == "!pin a"
        assert read_message(with_prefix_elided(raw, 5)).text == "… a"


def test_a_call_and_its_result_keep_one_id_where_ids_are_rewritten():
    call = {"type": "function_call", "id": "an id", "name": "f", "arguments": "{}"}
    raw = {"role": "assistant", "content": [call]}
    short = with_short_call_ids(raw, lambda text: False, 9)
    found = with_short_call_ids(result("an id"), lambda text: False, 9)
    assert [c.id for c in read_message(short).calls] == [found["tool_call_id"]]


@pytest.mark.parametrize("kind", [{"type": "refusal"}, {}, {"type": "hologram"}])
def test_a_long_result_is_clipped_however_it_is_said(kind):
    said = "shard port deploy " * 400
    found = {**kind, ("refusal" if kind.get("type") == "refusal" else "text"): said}
    chat = [user("hi"), assistant("ok"), user("look"), calling("a"), result("a")]
    chat[-1]["content"] = [found]
    done = ask(chat, 300)
    assert count_list(sent_by(done)) <= done.report.tokens_after <= 300


def test_a_call_in_a_block_without_any_result_gets_a_block():
    asked = {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}],
    }
    sent = sent_by(ask([user("look"), asked, user("and now?")], profile="anthropic"))
    assert sent[2]["role"] == "user"
    assert [(b["type"], b["tool_use_id"]) for b in sent[2]["content"]] == [("tool_result", "a")]
    both = {**asked, "tool_calls": calling("a")["tool_calls"]}
    sent = sent_by(ask([user("look"), both, user("and now?")]))
    assert sent[2]["tool_call_id"] == "a"


@pytest.mark.parametrize("kind", ["function_call", "custom_tool_call"])
def test_a_call_of_the_responses_api_without_any_result_gets_a_message_of_a_tool(kind):
    call = {"type": kind, "call_id": "a", "name": "f", "arguments": "{}"}
    asked = {"role": "assistant", "content": [call]}
    sent = sent_by(ask([user("look"), asked, user("and now?")], profile="responses"))
    assert (sent[2]["role"], sent[2]["tool_call_id"]) == ("tool", "a")


def test_a_call_is_answered_as_the_host_answered_calls_before_it():
    asked, later = using("b"), [user("and now?"), assistant("ok")]
    hosts = [user("look"), using("a"), result("a"), assistant("there")]
    sent = sent_by(ask([*hosts, user("again"), asked, *later]))
    assert sent[6]["role"] == "tool"
    blocks = [user("look"), using("a"), results("a"), assistant("there")]
    sent = sent_by(ask([*blocks, user("again"), asked, *later]))
    assert [b["type"] for b in sent[6]["content"]] == ["tool_result"]
    sent = sent_by(ask([user("again"), asked, *later, *hosts[1:]]))
    assert sent[2]["role"] == "user"
