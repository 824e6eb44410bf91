"""Why a prompt cache was lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eunoe.stages.accounting.cache_bust import (
    SentPart,
    find_cache_bust,
    first_changed_byte,
    sent_parts,
)

SYSTEM = {"role": "system", "content": "You help. " * 100}
CHAT = [SYSTEM] + [
    {"role": ("user", "assistant")[i % 2], "content": f"text {i}"} for i in range(20)
]
TOOLS = [{"type": "function", "function": {"name": "look", "parameters": {}}}]


def parts(messages, tools=None, keep_text=True):
    sizes = [10] * len(messages)
    return sent_parts(messages, sizes, tools=tools, tool_tokens=50, keep_text=keep_text)


def test_the_system_prompt_changed_at_byte_812():
    text = SYSTEM["content"]
    changed = [{**SYSTEM, "content": text[:812] + "X" + text[813:]}, *CHAT[1:]]
    bust = find_cache_bust(parts(CHAT), parts(changed))
    assert bust.describe() == "the system prompt changed at byte 812"
    assert (bust.index, bust.kept, bust.lost) == (0, 0, 210)


def test_message_14_changed():
    changed = [*CHAT[:14], {"role": "user", "content": "another"}, *CHAT[15:]]
    bust = find_cache_bust(parts(CHAT, keep_text=False), parts(changed, keep_text=False))
    assert bust.describe() == "the 15th message changed"
    assert (bust.kept, bust.lost) == (140, 70)


def test_bytes_count_not_characters():
    before = parts([{"role": "user", "content": "é日本 x"}])
    after = parts([{"role": "user", "content": "é日本 y"}])
    assert find_cache_bust(before, after).byte == 2 + 6 + 1
    assert find_cache_bust(before, after).describe() == "the 1st message changed at byte 9"


def test_a_cut_and_an_insertion_are_told_from_a_change():
    cut = find_cache_bust(parts(CHAT), parts([CHAT[0], *CHAT[7:]]))
    assert cut.describe() == "the 2nd to 7th messages were left out"
    assert (cut.kind, cut.count, cut.byte) == ("left out", 6, None)
    one = find_cache_bust(parts(CHAT), parts([*CHAT[:3], *CHAT[4:]]))
    assert one.describe() == "the 4th message was left out"
    new = {"role": "user", "content": "[memory]"}
    put = find_cache_bust(parts(CHAT), parts([*CHAT[:5], new, *CHAT[5:]]))
    assert put.describe() == "the 6th message was put in"


def test_the_tools_come_first_and_are_no_message():
    other = [*TOOLS, {"type": "function", "function": {"name": "more"}}]
    bust = find_cache_bust(parts(CHAT, TOOLS), parts(CHAT, other))
    assert bust.describe().startswith("the tools changed")
    changed = [*CHAT[:14], {"role": "user", "content": "another"}, *CHAT[15:]]
    bust = find_cache_bust(parts(CHAT, TOOLS), parts(changed, TOOLS))
    assert bust.describe() == "the 15th message changed at byte 0"
    assert bust.kept == 50 + 140
    appeared = find_cache_bust(parts(CHAT), parts(CHAT, TOOLS))
    assert appeared.describe().startswith("the tools changed")


@pytest.mark.parametrize("size", [0, 1, 5, 21])
def test_a_list_that_opens_the_other_loses_nothing(size: int):
    assert find_cache_bust(parts(CHAT[:size]), parts(CHAT)) is None
    assert find_cache_bust(parts(CHAT), parts(CHAT[:size])) is None


def test_the_order_of_keys_is_no_change_but_anything_else_is():
    turned = [{"content": m["content"], "role": m["role"]} for m in CHAT]
    assert find_cache_bust(parts(CHAT), parts(turned)) is None
    extra = [*CHAT[:2], {**CHAT[2], "name": "bob"}, *CHAT[3:]]
    bust = find_cache_bust(parts(CHAT), parts(extra))
    assert bust.describe() == "the 3rd message changed"  # the text is the same


names = st.lists(st.sampled_from("abcdefgh"), max_size=12)


def made(text: list[str]) -> list[SentPart]:
    return [SentPart(digest=x, role="user", tokens=ord(x), text=x) for x in text]


@given(names, names)
def test_laws(one: list[str], two: list[str]):
    before, after = made(one), made(two)
    bust = find_cache_bust(before, after)
    same = 0
    while same < min(len(one), len(two)) and one[same] == two[same]:
        same += 1
    assert (bust is None) == (same in (len(one), len(two)))
    if bust is not None:
        assert bust.index == same
        assert bust.kept + bust.lost == sum(map(ord, one))
        assert bust.kept == sum(map(ord, two[:same]))
        assert bust.describe()
        assert bust.count >= 1


@given(st.text(max_size=30), st.text(max_size=30))
def test_the_first_changed_byte(one: str, two: str):
    place = first_changed_byte(one, two)
    a, b = one.encode("utf-8", "surrogatepass"), two.encode("utf-8", "surrogatepass")
    if one == two:
        assert place is None
    else:
        assert a[:place] == b[:place]
        assert a[place : place + 1] != b[place : place + 1]


def test_odd_values_have_a_digest_too():
    odd = [
        {
            "role": None,
            "content": {
                1,
            },
        },
        {"content": [b"x", {"type": "text"}]},
    ]
    assert find_cache_bust(parts(odd), parts(odd)) is None
