"""Tables and paragraphs for a terminal, aligned by what characters really take."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
import unicodedata
from collections.abc import Sequence

_GAPS = (2, 1)
_NARROWEST = 30
_WIDEST_TEXT = 110


def terminal_width() -> int:
    """Columns of the terminal; 100 where the output is no terminal, unless COLUMNS says more."""
    if sys.stdout.isatty() or os.environ.get("COLUMNS"):
        return max(_NARROWEST, shutil.get_terminal_size().columns)
    return 100


def text_width(text: str) -> int:
    """Columns that a text takes: wide characters two, combining marks none."""
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )


def clip_text(text: str, width: int) -> str:
    """The text on one line, cut with `…` where it is longer than ``width`` columns."""
    line = " ".join(text.split())
    if text_width(line) <= width:
        return line
    taken, used = [], 1
    for c in line:
        used += text_width(c)
        if used > width:
            break
        taken.append(c)
    return "".join(taken) + "…"


def format_table(headings: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> str:
    """A table with the first column to the left and the others to the right.

    Args:
        headings: one for each column; a line break in a heading makes it two lines.
        rows: cells as text.
        width: columns of the terminal; where the table is wider, each row becomes a block.
    """
    heads = [heading.split("\n") for heading in headings]
    height = max(map(len, heads), default=0)
    heads = [[""] * (height - len(h)) + h for h in heads]
    lines = [[h[i] for h in heads] for i in range(height)]
    every = [*lines, *[list(row) for row in rows]]
    widths = [max(text_width(row[i]) for row in every) for i in range(len(headings))]
    room = width - sum(widths)
    gap = next((size for size in _GAPS if size * (len(widths) - 1) <= room), None)
    if gap is None:
        return _format_blocks(headings, rows)
    made = [
        (" " * gap).join(_pad(cell, widths[i], right=i > 0) for i, cell in enumerate(row))
        for row in every
    ]
    return "\n".join(line.rstrip() for line in made)


def _format_blocks(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    names = [heading.replace("\n", " ").strip() for heading in headings]
    left = max(map(text_width, names[1:]), default=0)
    lines = []
    for row in rows:
        lines.append(row[0])
        lines += [
            f"  {_pad(name, left)}  {cell}" for name, cell in zip(names[1:], row[1:], strict=True)
        ]
    return "\n".join(lines)


def _pad(text: str, width: int, *, right: bool = False) -> str:
    blanks = " " * max(0, width - text_width(text))
    return blanks + text if right else text + blanks


def wrap_text(text: str, width: int) -> str:
    """A paragraph, broken at blanks."""
    return textwrap.fill(text, max(_NARROWEST, min(width, _WIDEST_TEXT)), break_long_words=False)
