"""Chats for the command line's tests."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from eunoe_cli.__main__ import main

Messages = list[dict[str, Any]]


def talk(turns: int, words: int = 30) -> Messages:
    """A plain chat that ends with a question."""
    made: Messages = [{"role": "system", "content": "Be brief."}]
    for t in range(turns):
        made.append({"role": "user", "content": f"Question {t}: " + "word " * words})
        made.append({"role": "assistant", "content": f"Answer {t}: " + "reply " * words})
    return [*made, {"role": "user", "content": "And now?"}]


def tool_talk() -> Messages:
    """A chat with a call in the middle."""
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    return [
        {"role": "user", "content": "Look."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "seen " * 50},
        {"role": "assistant", "content": "I have looked."},
        {"role": "user", "content": "Thanks."},
    ]


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., str]:
    """Write a value as JSON, or a text as it is; return the path."""

    def write_file(value: Any, name: str = "chat.json") -> str:
        path = tmp_path / name
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        path.write_text(text, encoding="utf-8")
        return str(path)

    return write_file


@pytest.fixture
def eunoe(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Run the command; return exit code, output and error output."""

    def run(*arguments: str) -> tuple[int, str, str]:
        try:
            code = main(list(arguments))
        except SystemExit as stop:
            code = int(stop.code or 0)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


@pytest.fixture
def chat() -> Messages:
    return talk(12)


@pytest.fixture
def chat_with_tools() -> Messages:
    return tool_talk()
