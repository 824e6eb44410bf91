"""What providers refuse, a sentence each, and the mended list."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from eunoe import lint


@pytest.fixture
def broken(chat_with_tools):
    """A result that lost its call."""
    return [chat_with_tools[0], *chat_with_tools[2:]]


def test_a_good_list(eunoe, write, chat):
    code, out, err = eunoe("lint", write(chat), "--provider", "anthropic")
    assert (code, err) == (0, "")
    assert out.endswith("chat.json: anthropic takes it\n")


def test_each_fault_is_one_sentence(eunoe, write, broken):
    code, out, _ = eunoe("lint", write(broken), "--provider", "openai")
    assert code == 1
    assert "chat.json: messages[1]: a result without its call 'c1' (orphan)\n" in out
    assert out.endswith("1 rule of openai broken\n")


def test_the_model_names_the_provider(eunoe, write, broken):
    assert "of mistral" in eunoe("lint", write(broken), "--model", "mistral-large")[1]


def test_the_size_is_checked_if_asked_for(eunoe, write, chat):
    code, out, _ = eunoe("lint", write(chat), "--budget", "100")
    assert code == 1
    assert "tokens, 100 allowed (over-budget)" in out


def test_fix_writes_a_list_that_passes(eunoe, write, broken, tmp_path: Path):
    target = tmp_path / "fixed.json"
    code, out, err = eunoe("lint", write(broken), "--fix", "-o", str(target))
    assert (code, out) == (0, "")
    assert "messages[1]: a result without its call" in err
    assert "mended: " in err
    mended = json.loads(target.read_text(encoding="utf-8"))
    assert lint(mended, "openai") == ()
    assert mended[-1] == broken[-1]


def test_fix_keeps_the_form_of_the_file(eunoe, write, broken):
    _, out, _ = eunoe("lint", write({"model": "m", "messages": broken}), "--fix")
    assert json.loads(out)["model"] == "m"
    _, out, _ = eunoe("lint", write([{"messages": broken}, {"messages": broken}]), "--fix")
    assert [lint(json.loads(line)["messages"]) for line in out.splitlines()] == [(), ()]


def test_fix_does_not_shorten(eunoe, write, chat):
    code, out, err = eunoe("lint", write(chat), "--fix", "--budget", "100")
    assert code == 1
    assert json.loads(out) == chat
    assert "still broken" in err


def test_half_a_character_can_be_written(eunoe, write, tmp_path):
    text = '[{"role": "user", "content": "x\\ud83d y"}]'
    code, out, _ = eunoe("lint", write(text), "--fix")
    assert code == 0
    assert lint(json.loads(out)) == ()
    assert eunoe("lint", write(text))[0] == 1


def test_a_deep_list_is_written_in_one_line(eunoe, write):
    deep = '"leaf"'
    for i in range(600):
        deep = f"[{deep}]" if i % 2 else '{"k":' + deep + "}"
    text = '[{"role":"user","content":"q","x":' + deep + '},{"role":"tool","content":"r"}]'
    code, out, _ = eunoe("lint", write(text), "--fix")
    assert code == 0
    assert out.count("leaf") == 1
    assert lint(json.loads(out)) == ()


def test_fix_brings_ids_into_the_form_that_is_wanted(eunoe, write, chat_with_tools):
    for provider in ("openai", "anthropic", "mistral"):
        code, out, _ = eunoe("lint", write(chat_with_tools), "--provider", provider, "--fix")
        assert code == 0
        assert lint(json.loads(out), provider) == ()


def test_what_only_the_caller_can_mend_is_named(eunoe, write):
    chat = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "It is "}]
    code, out, err = eunoe("lint", write(chat), "--model", "claude-opus-4-6", "--fix")
    assert (code, json.loads(out)) == (1, chat)
    assert "messages[1]: an answer stands last, where a user must (answer-last)" in err


def test_flags_stay_in_the_text(eunoe, write):
    chat = [{"role": "user", "content": "!pin q"}, {"role": "tool", "content": "r"}]
    _, out, _ = eunoe("lint", write(chat), "--fix")
    assert json.loads(out)[-1]["content"] == "!pin q"
