"""The picture of a request: whole, well formed, and about the right messages."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest

from eunoe import ContextOrchestrator, Conversation, TokenBudget
from eunoe_cli.plot import WIDTH, draw_scene, wrapped
from eunoe_cli.plot_scene import make_scene
from eunoe_cli.table import text_width

FACT = "The gate code of the garden is 7391."
NAMESPACE = "{http://www.w3.org/2000/svg}"


def long_chat(asked="What is the gate code of the garden?"):
    chat = [{"role": "system", "content": "be brief"}, {"role": "user", "content": FACT}]
    for i in range(40):
        chat += [
            {"role": "assistant", "content": f"noted {i}, and what else is there?"},
            {"role": "user", "content": f"the weather of day {i} was mild <&> \x07 dull"},
        ]
    return [*chat, {"role": "assistant", "content": "fine"}, {"role": "user", "content": asked}]


def scene_of(chat, budget=300, **more):
    result = ContextOrchestrator(TokenBudget(budget), on_overflow="truncate").process_sync(
        Conversation.from_openai_messages(chat), **more
    )
    return make_scene("chat.json", chat, result)


def texts(svg):
    return [element.text for element in ET.fromstring(svg).iter(f"{NAMESPACE}text")]


@pytest.mark.parametrize("policy", ["stable", "relevance", "window", "off"])
@pytest.mark.parametrize("budget", [120, 300, 0])
def test_it_is_well_formed_and_shows_every_message(policy, budget):
    chat = long_chat()
    scene = scene_of(chat, budget, policy=policy)
    svg = draw_scene(scene)
    tree = ET.fromstring(svg)
    groups = tree.findall(f"{NAMESPACE}g")
    assert len(groups) == len(chat)
    assert "message 0, system" in groups[0][0].text
    assert svg == draw_scene(scene_of(chat, budget, policy=policy))
    for element in tree.iter():
        for name in ("x", "width"):
            if name in element.attrib:
                assert 0 <= float(element.attrib[name]) <= WIDTH


@pytest.mark.parametrize("policy", ["stable", "relevance"])
def test_it_says_why_a_turn_came_back(policy):
    shown = texts(draw_scene(scene_of(long_chat(), policy=policy)))
    assert shown[0] == "What is the gate code of the garden?"
    assert f"turn 1: {FACT}" in shown
    assert any(t.startswith("recall: ") for t in shown)


def test_the_window_the_turn_and_the_budget_are_named():
    scene = scene_of(long_chat())
    shown = " | ".join(texts(draw_scene(scene)))
    assert re.search(r"the window .*recalled \d+ .*left out \d+ .*this turn 1 ", shown)
    assert "the budget, 300 tokens" in shown
    assert sum(size for _, size in scene.parts) == 300
    assert scene.spans[0][0] <= 1


def test_a_chat_that_fits_has_no_cut():
    scene = scene_of(long_chat(), 100_000)
    shown = texts(draw_scene(scene))
    assert scene.cut is None
    assert scene.labelled == ()
    assert "the chat fits whole" in shown


@pytest.mark.parametrize("chat", [[], [{"role": "user", "content": "hi"}], long_chat("")])
def test_odd_chats_are_drawn(chat):
    ET.fromstring(draw_scene(scene_of(chat)))


def test_lines_are_wrapped():
    words = "one two three four five six seven eight nine ten " * 4
    lines = wrapped(words, 40, 2)
    assert len(lines) == 2
    assert all(text_width(line) <= 40 for line in lines)
    assert lines[-1].endswith("…")
    assert wrapped("数据库的端口是什么" * 9, 40, 2)[0] == "数据库的端口是什么" * 2 + "数"
    assert wrapped("", 40, 2) == [""]
