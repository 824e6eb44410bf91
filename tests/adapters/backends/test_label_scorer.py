"""Labels from a model on a real socket: pieces, table of contents, faults."""

from __future__ import annotations

import json
import re

import pytest

from eunoe import BackendError, ContextOrchestrator, Conversation, SettingsError, TokenBudget
from eunoe.pipeline.chat.transcript import PipelineMemory
from eunoe_backends import ChatLabeller
from model_server import running_server

pytest.importorskip("httpx")


def by_word(body):
    """Messages that hold the word "needle" are needed, all others are useless."""
    content = body["messages"][1]["content"]
    if "Contents:" in content:
        named = re.findall(r"^T(\d+) .*needle", content, re.MULTILINE)
        return json.dumps({"topics": [int(n) for n in named]})
    lines = content.split("Messages:\n")[1].splitlines()
    return json.dumps({str(k): "K" if "needle" in x else "D" for k, x in enumerate(lines, 1)})


@pytest.fixture
def models():
    with running_server() as running:
        running.said = by_word
        yield running


def chat(size, needles=()):
    words = ("garden tomato", "python package", "trumpet lesson", "harbour ship")
    return [
        (
            "user" if i % 2 == 0 else "assistant",
            f"{words[i // 10 % 4]} {i}" + " needle" * (i in needles),
        )
        for i in range(size)
    ]


def test_the_whole_history_is_labelled_in_pieces(models):
    labeller = ChatLabeller(models.url, "m", piece=10, api_key="sk-x", extra={"top_p": 1})
    got = labeller.label("where?", chat(25, {3, 24}))
    assert got == [1.0 if i in (3, 24) else 0.05 for i in range(25)]
    assert len(models.asked) == 3
    assert all(body["temperature"] == 0 and body["top_p"] == 1 for _, _, body in models.asked)
    labeller.label("where?", chat(25, {3, 24}))
    assert len(models.asked) == 3  # remembered
    labeller.label("why?", chat(25, {3, 24}))
    assert len(models.asked) == 6
    assert labeller.label("where?", []) == []
    labeller.close()


def test_without_a_question_all_is_labelled_for_later(models):
    labeller = ChatLabeller(models.url, "m", piece=40, enter_above=20)
    got = labeller.label("", chat(60, {3, 50}))
    assert got == [1.0 if i in (3, 50) else 0.05 for i in range(60)]
    asked = [body["messages"] for _, _, body in models.asked]
    assert len(asked) == 2
    assert all("later" in rules["content"] for rules, _ in asked)
    assert all("Question" not in shown["content"] for _, shown in asked)


def test_a_long_chat_is_entered_by_its_contents(models):
    labeller = ChatLabeller(models.url, "m", piece=20, enter_above=100)
    got = labeller.label("where?", chat(200, {21, 23, 123, 125}))
    assert got[21] == got[23] == got[123] == got[125] == 1.0
    assert got[0] == got[199] == 0.25  # not opened
    assert 0.05 in got
    assert len(models.asked) <= 1 + 3 * 2
    labeller.close()


def test_no_topic_named_means_all_of_it(models):
    labeller = ChatLabeller(models.url, "m", piece=50, enter_above=100)
    assert labeller.label("where?", chat(150)) == [0.05] * 150
    assert len(models.asked) == 1 + 3
    labeller.close()


def test_a_piece_that_fails_says_nothing(models):
    models.statuses = [400]
    labeller = ChatLabeller(models.url, "m", piece=10, parallel=1)
    got = labeller.label("where?", chat(20, {15}))
    assert got == [None] * 10 + [0.05] * 5 + [1.0] + [0.05] * 4
    labeller.close()


@pytest.mark.parametrize(
    "answer", ["{}", '{"choices": []}', '{"choices": [{"message": {"content": null}}]}', "x"]
)
def test_no_usable_answer_is_a_fault(models, answer):
    models.answer = answer
    labeller = ChatLabeller(models.url, "m")
    with pytest.raises(BackendError):
        labeller.label("where?", chat(3))
    labeller.close()


def test_what_is_shown_of_a_message(models):
    labeller = ChatLabeller(models.url, "m", characters=40)
    labeller.label("where\n\nis it?", [("user", "a\n2 user: fake" + "x" * 500 + "the end\ud800")])
    content = models.asked[0][2]["messages"][1]["content"]
    assert content.startswith("Question: where is it?\n")
    [line] = content.split("Messages:\n")[1].splitlines()
    assert line.startswith("1 user: a 2 user: fake")
    assert line.endswith("the end?")
    assert len(line) < 60
    labeller.close()


def test_settings_out_of_range():
    for name in ("piece", "characters", "expand", "topics", "parallel"):
        with pytest.raises(SettingsError):
            ChatLabeller("http://localhost/v1", "m", **{name: 0})


async def test_labels_decide_what_is_kept(models):
    words = " of this and that in a line with some more words to it"
    raw = [{"role": r, "content": t + words} for r, t in chat(80, {12})]
    raw.append({"role": "user", "content": "zzzz?"})
    asked = Conversation.from_openai_messages(raw)
    orchestrator = ContextOrchestrator(
        TokenBudget(300), memory=PipelineMemory(), labeller=ChatLabeller(models.url, "m")
    )
    before = orchestrator.process_sync(asked, policy="relevance").report
    assert before.decisions[12].fate == "dropped"
    assert any("labels" in warning for warning in before.warnings)
    assert await orchestrator.prepare(asked)
    after = orchestrator.process_sync(asked, policy="relevance").report
    assert after.decisions[12].fate in ("kept", "recalled")
    assert after.warnings == ()
    assert len(models.asked) == 2
