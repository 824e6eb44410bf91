"""Columns line up, wide characters count twice, narrow terminals get blocks."""

from __future__ import annotations

import pytest

from eunoe_cli.table import clip_text, format_table, text_width, wrap_text

ROWS = [["plain", "1", "10"], ["größer", "1,000", "2"]]


def test_columns_line_up():
    lines = format_table(["", "tokens\nsent", "over"], ROWS, 80).split("\n")
    assert lines == [
        "        tokens",
        "          sent  over",
        "plain        1    10",
        "größer   1,000     2",
    ]


def test_columns_move_together_before_the_table_is_given_up():
    lines = format_table(["", "tokens\nsent", "over"], ROWS, 18).split("\n")
    assert lines[-1] == "größer  1,000    2"


def test_a_narrow_terminal_gets_blocks():
    assert format_table(["", "tokens\nsent", "over"], ROWS, 12).split("\n") == [
        "plain",
        "  tokens sent  1",
        "  over         10",
        "größer",
        "  tokens sent  1,000",
        "  over         2",
    ]


@pytest.mark.parametrize(
    ("text", "width"), [("abc", 3), ("日本", 4), ("e\u0301", 1), ("", 0), ("ｗ", 2)]
)
def test_width_is_what_a_terminal_shows(text, width):
    assert text_width(text) == width


def test_clipping_keeps_to_the_width():
    assert clip_text("a  b\nc", 10) == "a b c"
    assert clip_text("abcdefgh", 5) == "abcd…"
    assert text_width(clip_text("日本語日本語", 6)) <= 6


def test_wrapping_keeps_words_whole():
    assert wrap_text("word " * 20, 40).split("\n")[0] == " ".join(["word"] * 8)
