"""The examples run, and what they are made from gives the committed files."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ask import broken_rules
from eunoe import PROFILES
from eunoe.stages.counting.tokenizer import find_tokenizer

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
LONG_CHAT = json.loads((EXAMPLES / "long_chat.json").read_text(encoding="utf-8"))
NEEDS_LANGCHAIN = pytest.mark.skipif(
    importlib.util.find_spec("langchain_core") is None, reason="langchain-core is not installed"
)


def run_example(*arguments: str) -> str:
    home = EXAMPLES.parent
    path = os.pathsep.join(str(x) for x in (home / "core", home / "adapters", EXAMPLES))
    done = subprocess.run(
        [sys.executable, "-W", "error", *arguments],
        cwd=home,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_trim():
    out = run_example("examples/trim.py")
    assert f"{len(LONG_CHAT)} messages in the chat, " in out
    assert "of 4,000 allowed" in out


@NEEDS_LANGCHAIN
def test_langchain_chain():
    assert "I was sent " in run_example("examples/langchain_chain.py")


def test_openwebui_function():
    code = "import openwebui_function as f; print(f.Filter.__name__)"
    assert run_example("-c", code) == "Filter\n"


def test_needed_facts():
    lines = run_example("examples/needed_facts.py", "6000").splitlines()
    assert lines[0] == "12 questions, budget 6,000"
    assert any(line.split()[:4] == ["untouched", "22", "of", "22"] for line in lines)


def test_the_long_chat_is_made_by_its_script():
    made = run_example(
        "-c", "import json, make_long_chat as m; print(json.dumps(m.make_messages()))"
    )
    assert json.loads(made) == LONG_CHAT


def test_every_needed_fact_was_said_before_it_is_needed():
    code = "import json, make_long_chat as m; print(json.dumps(m.needed_facts()))"
    facts = json.loads(run_example("-c", code))
    for place, texts in facts.items():
        assert LONG_CHAT[int(place)]["role"] == "user"
        before = json.dumps(LONG_CHAT[: int(place)], ensure_ascii=False)
        assert [text for text in texts if text not in before] == []
        assert [text for text in texts if text in LONG_CHAT[int(place)]["content"]] == []


@pytest.mark.parametrize("profile", sorted(set(PROFILES)))
def test_the_long_chat_is_valid_everywhere(profile: str):
    assert broken_rules(LONG_CHAT, profile) == []


@NEEDS_LANGCHAIN
@pytest.mark.slow
@pytest.mark.skipif(not find_tokenizer("o200k").exact, reason="drawn with an exact tokenizer")
def test_the_picture_is_what_the_runs_give():
    code = (
        "import draw_compare as d;"
        "print(d.draw(d.compare(d.HOME / 'long_chat.json'), d.facts_there()), end='')"
    )
    picture = (EXAMPLES / "images" / "compare.svg").read_text(encoding="utf-8")
    assert run_example("-c", code) == picture, "run: python examples/draw_compare.py"


@pytest.mark.skipif(not find_tokenizer("o200k").exact, reason="drawn with an exact tokenizer")
def test_the_picture_of_explain_is_what_the_command_draws():
    picture = (EXAMPLES / "images" / "explain.svg").read_text(encoding="utf-8")
    drawn = run_example("-c", "import draw_explain as d; print(d.draw(), end='')")
    assert drawn == picture, "run: python examples/draw_explain.py"
