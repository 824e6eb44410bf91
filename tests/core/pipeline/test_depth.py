"""Content nested deeper than Python's calls can go passes, is counted, and comes back as it was."""

from __future__ import annotations

import sys

import pytest

from ask import ask, sent_by
from eunoe import lint
from judge import said
from strategies import PROFILE_NAMES, assistant, user

DEPTHS = [200, sys.getrecursionlimit() - 60, 2 * sys.getrecursionlimit()]


def nested(depth: int, leaf: object = "leaf"):
    value = leaf
    for i in range(depth):
        value = [value] if i % 2 else {"k": value}
    return value


def call(arguments: object, call_id: object = "c"):
    function = {"name": "f", "arguments": arguments}
    calls = [{"id": call_id, "type": "function", "function": function}]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def chats(deep: object):
    use = {"type": "tool_use", "id": "c", "name": "f", "input": deep}
    told = {"role": "tool", "tool_call_id": "c", "content": [deep]}
    return {
        "arguments": [user("q"), call(deep), told, user("r")],
        "input": [user("q"), {"role": "assistant", "content": [use]}, told, user("r")],
        "part": [{"role": "user", "content": [deep]}, assistant("x"), user("r")],
        "field": [user("q", metadata=deep), assistant("x", extra=deep), user("r")],
        "type": [{"role": "user", "content": [{"type": deep, "text": "x"}]}, user("r")],
        "id": [
            user("q"),
            call("{}", deep),
            {"role": "tool", "tool_call_id": deep, "content": "x"},
            user("r"),
        ],
    }


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("where", chats(""))
def test_a_deep_message_passes_as_it_is(depth, where):
    chat = chats(nested(depth))[where]
    answer = ask(chat, 0, "openai", tools=[{"name": "f", "parameters": nested(depth)}])
    assert [id(m) for m in sent_by(answer)] == [id(m) for m in chat]
    assert answer.report.tool_tokens > depth
    if where not in ("field", "type", "id"):
        assert answer.report.tokens_before > depth
    assert answer.report.to_dict()["mended"] == ()


@pytest.mark.parametrize("profile", PROFILE_NAMES)
@pytest.mark.parametrize("where", chats(""))
def test_a_deep_message_is_mended_and_cut_like_others(profile, where):
    chat = chats(nested(DEPTHS[-1], "half a \ud83d"))[where]
    answer = ask(chat, 60, profile, on_overflow="truncate", rewrite_call_ids=True)
    assert said(sent_by(answer)[-1]).endswith("r")
    whole = sent_by(ask(chat, 0, profile))
    assert not {"surrogate"} & {v.code for v in lint(whole, profile)}


def test_the_same_depth_gives_the_same_bytes_wherever_the_caller_stands():
    """Near the limit it depends on the caller whether JSON's own writer can go so deep."""
    chat = chats(nested(sys.getrecursionlimit() // 2))["field"]

    def from_below(steps: int) -> int:
        return from_below(steps - 1) if steps else ask(chat).report.tokens_before

    assert from_below(0) == from_below(sys.getrecursionlimit() // 2)
