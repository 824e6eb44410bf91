"""Summaries through the proxy: written by another model, behind the answers."""

from __future__ import annotations

import json
import time

import pytest

from eunoe import SettingsError
from eunoe_backends import LLMSummarizer
from eunoe_cli.summarizing import find_summarizer
from model_server import running_server
from proxied import talk


def notes(body):
    return "- The gate has the number 4711.\n- The safe has the number 31337."


def test_what_a_cut_leaves_out_is_summed_up(upstream, proxy):
    messages = [
        {"role": "user", "content": "The gate has the number 4711."},
        {"role": "assistant", "content": "Noted."},
        *talk(60)[1:],
    ]
    with running_server() as models:
        models.said = notes
        summarizer = LLMSummarizer(models.url, "sk-x", "small")
        running = proxy(max_tokens=1500, summarizer=summarizer)
        end = time.monotonic() + 20
        while True:
            running.ask(messages)
            sent = json.dumps(upstream.asked[-1][2]["messages"])
            assert "31337" not in sent
            if "The gate has the number 4711." in sent:
                break
            assert time.monotonic() < end
            time.sleep(0.05)
        assert models.asked[0][1]["Authorization"] == "Bearer sk-x"
        assert "The gate has the number 4711." in models.asked[0][2]["messages"][1]["content"]
        asked = [body["messages"][1]["content"] for _, _, body in models.asked]
        assert len(asked) == len(set(asked))


def test_the_option_of_the_command(monkeypatch):
    monkeypatch.setenv("EUNOE_SUMMARY_KEY", "sk-secret")
    assert find_summarizer(None) is None
    found = find_summarizer("http://localhost:11434/v1#qwen3:4b")
    assert found.name.startswith("qwen3:4b at localhost:11434")
    for text in ("qwen3", "http://host/v1", "http://u:p@host/v1"):
        with pytest.raises(SettingsError, match="--summarize") as fault:
            find_summarizer(text)
        assert "u:p" not in str(fault.value)
