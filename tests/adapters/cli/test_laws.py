"""Laws of the command line, tried on random chats."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ask import broken_rules
from eunoe_cli.chat_file import read_chats
from eunoe_cli.contenders import CONTENDERS, Contest, plain_window
from eunoe_cli.replay import replay_chat, request_points
from eunoe_cli.ruler import Ruler
from eunoe_cli.table import clip_text, format_table, text_width

WORDS = st.text(alphabet="abc äß日🎉\n", min_size=1, max_size=60).filter(str.strip)


@st.composite
def chats(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Valid chats with tool rounds, ending with a question."""
    made: list[dict[str, Any]] = []
    if draw(st.booleans()):
        made.append({"role": "system", "content": draw(WORDS)})
    for turn in range(draw(st.integers(0, 6))):
        made.append({"role": "user", "content": draw(WORDS)})
        for step in range(draw(st.integers(0, 2))):
            name = f"call_{turn}_{step}"
            function = {"name": "look", "arguments": "{}"}
            call = {"id": name, "type": "function", "function": function}
            made.append({"role": "assistant", "content": None, "tool_calls": [call]})
            made.append({"role": "tool", "tool_call_id": name, "content": draw(WORDS) * 5})
        made.append({"role": "assistant", "content": draw(WORDS)})
    return [*made, {"role": "user", "content": draw(WORDS)}]


@pytest.mark.property
@settings(max_examples=60)
@given(chat=chats(), budget=st.integers(1, 600))
def test_the_window_is_valid_and_fits_or_is_the_question_alone(chat, budget):
    ruler = Ruler(chat)
    sent = plain_window(chat, budget, ruler)
    forced = [m for m in chat if m["role"] == "system"] + chat[-1:]
    assert broken_rules(sent) == []
    assert ruler.total(sent) <= budget or sent == forced
    assert not ruler.is_incomplete(sent, chat)


@pytest.mark.property
@settings(max_examples=15)
@given(chat=chats(), budget=st.integers(20, 600))
def test_accounts_hold_together(chat, budget):
    contest = Contest(messages=chat, budget=budget, ruler=Ruler(chat))
    points = request_points(chat)
    for contender in CONTENDERS:
        tally = replay_chat(contender, contest, points, lambda done: None)
        assert tally.requests + tally.failed == len(points)
        assert 0 <= tally.repeated <= tally.sent
        assert tally.sent >= tally.cost(0.1) >= tally.cost(0.0)
        if contender.name in ("relevance", "stable"):
            assert (tally.refused, tally.incomplete, tally.failed) == (0, 0, 0)


@pytest.mark.property
@settings(max_examples=40)
@given(chat=chats())
def test_every_form_of_a_file_is_the_same_chat(chat, tmp_path_factory):
    texts = [
        json.dumps(chat),
        json.dumps({"messages": chat}, indent=1),
        json.dumps([{"messages": chat}], ensure_ascii=False),
    ]
    if len(chat) > 1:
        texts.append("\n".join(map(json.dumps, chat)))
    path = tmp_path_factory.getbasetemp() / "form.json"
    for text in texts:
        path.write_text(text, encoding="utf-8")
        assert [c.messages for c in read_chats(str(path))] == [chat]


@pytest.mark.property
@given(text=st.text(max_size=80), width=st.integers(1, 40))
def test_clipped_text_fits(text, width):
    assert text_width(clip_text(text, width)) <= width


@pytest.mark.property
@given(
    rows=st.lists(st.lists(st.text("ab日", max_size=8), min_size=3, max_size=3), max_size=5),
    width=st.integers(10, 80),
)
def test_a_table_keeps_to_the_width_or_becomes_blocks(rows, width):
    lines = format_table(["", "one\ntwo", "three"], rows, width).split("\n")
    blocks = len(lines) == 3 * len(rows)
    assert blocks or all(text_width(line) <= width for line in lines)
