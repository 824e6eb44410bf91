"""The line that says how far long work is."""

from __future__ import annotations

import io
import sys

import pytest

from eunoe_cli import progress
from eunoe_cli.progress import Progress


class Terminal(io.StringIO):
    """A standard error that is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch):
    """A clock that goes on by a second at each look."""
    ticks = iter(range(100, 10_000))
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(ticks))


def test_a_terminal_gets_one_line_that_is_taken_away(monkeypatch, clock):
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    line = Progress()
    line.show("request 10 of 20")
    line.show("done")
    line.clear()
    line.clear()
    assert stream.getvalue().split("\r") == [
        "",
        "request 10 of 20",
        "done            ",
        " " * 4,
        "",
    ]


def test_elsewhere_it_is_silent_unless_asked(monkeypatch, clock):
    for asked, lines in ((False, []), (True, ["a", "b"])):
        stream = io.StringIO()
        monkeypatch.setattr(sys, "stderr", stream)
        line = Progress(asked=asked)
        for text in ("a", "a moment later", "b"):
            line.show(text)
        line.clear()
        assert stream.getvalue().splitlines() == lines
