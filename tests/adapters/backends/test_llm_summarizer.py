"""Summaries from a model on a real socket."""

from __future__ import annotations

import json

import pytest

from eunoe import (
    BackendError,
    ContextOrchestrator,
    Conversation,
    Settings,
    SettingsError,
    TokenBudget,
)
from eunoe.pipeline.chat.transcript import PipelineMemory
from eunoe_backends import LLMSummarizer
from model_server import running_server

pytest.importorskip("httpx")

MESSAGES = [
    {"role": "user", "content": "The door code is 4711. " * 40},
    {"role": "assistant", "content": "Noted {and} kept. " * 40},
]


@pytest.fixture
def models():
    with running_server() as running:
        running.said = lambda body: "- The door code is 4711."
        yield running


def completion(text, ended="stop"):
    return json.dumps({"choices": [{"message": {"content": text}, "finish_reason": ended}]})


def test_what_is_asked_and_what_comes_back(models):
    summarizer = LLMSummarizer(models.url, "sk-x", "m", extra_body={"top_p": 1})
    assert summarizer.summarize(MESSAGES, target_ratio=0.3) == "- The door code is 4711."
    path, headers, body = models.asked[0]
    rules, shown = body["messages"]
    assert path.endswith("/chat/completions")
    assert headers["Authorization"] == "Bearer sk-x"
    assert (body["model"], body["temperature"], body["top_p"]) == ("m", 0, 1)
    assert "about 86 words" in rules["content"]
    assert shown["content"].startswith("Messages:\nuser: The door code is 4711.")
    assert "assistant: Noted {and} kept." in shown["content"]
    assert "sk-x" not in summarizer.name
    summarizer.close()


def test_context_is_shown_apart(models):
    summarizer = LLMSummarizer(models.url, model="m")
    summarizer.summarize(MESSAGES, context_messages=[{"role": "user", "content": "In Oslo."}])
    shown = models.asked[0][2]["messages"][1]["content"]
    assert shown.startswith("For understanding, not to be noted:\nuser: In Oslo.\n\nMessages:")


def test_a_prompt_of_ones_own_may_have_braces(models):
    summarizer = LLMSummarizer(models.url, model="m", system_prompt='{"a": {words}} {b}')
    summarizer.summarize([{"role": "user", "content": "hi"}], target_ratio=1.0)
    assert models.asked[0][2]["messages"][0]["content"] == '{"a": 30} {b}'


@pytest.mark.parametrize(
    "answer",
    [
        completion("The door", "length"),
        completion("", "stop"),
        completion(None),
        completion("x", "content_filter"),
        "{}",
        '{"choices": []}',
        "no json",
    ],
)
def test_what_is_no_whole_summary_is_a_fault(models, answer):
    models.answer = answer
    with pytest.raises(BackendError):
        LLMSummarizer(models.url, model="m").summarize(MESSAGES)


def test_it_is_tried_again_and_then_given_up(models):
    models.statuses = [429]
    summarizer = LLMSummarizer(models.url, model="m")
    assert summarizer.summarize(MESSAGES)
    models.statuses = [500] * 9
    with pytest.raises(BackendError, match="500"):
        LLMSummarizer(models.url, model="m", retry_attempts=2).summarize(MESSAGES)
    assert len(models.asked) == 4


def test_arguments_out_of_range_are_refused():
    with pytest.raises(SettingsError):
        LLMSummarizer("ftp://x")
    with pytest.raises(SettingsError):
        LLMSummarizer("http://x/v1", timeout=0)
    with pytest.raises(SettingsError):
        LLMSummarizer("http://x/v1", retry_attempts=0)


def chat(turns=40):
    messages = [{"role": "system", "content": "Be kind."}]
    for k in range(turns):
        messages += [
            {
                "role": "user",
                "content": f"Guest {k} has the door code 47{k:02d}. " + "So it is. " * 20,
            },
            {"role": "assistant", "content": "Noted, as you said. " * 20},
        ]
    return Conversation.from_openai_messages([*messages, {"role": "user", "content": "Go on."}])


def test_in_the_orchestrator_it_is_asked_behind_the_answer(models):
    models.said = lambda body: "- Guest 11 has the door code 4711.\n- Guest 12 has the code 9999."
    by = ContextOrchestrator(
        TokenBudget(2000),
        settings=Settings(recall="never"),
        memory=PipelineMemory(),
        summarizer=LLMSummarizer(models.url, model="m"),
    )
    assert "<summary" not in str(by.process_sync(chat()).conversation.to_openai_messages())
    by.drain()
    by.process_sync(chat())
    by.drain()
    sent = str(by.process_sync(chat()).conversation.to_openai_messages())
    assert "Guest 11 has the door code 4711." in sent
    assert "9999" not in sent  # nobody said so


def test_a_server_that_is_away_costs_no_request(models):
    models.statuses = [503] * 20
    by = ContextOrchestrator(
        TokenBudget(2000),
        settings=Settings(recall="never"),
        memory=PipelineMemory(),
        summarizer=LLMSummarizer(models.url, model="m", retry_attempts=1),
    )
    for _ in range(3):
        result = by.process_sync(chat())
        by.drain()
    assert len(models.asked) == 1
    assert result.token_count <= 2000
