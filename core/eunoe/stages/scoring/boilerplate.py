"""What messages of one writer repeat line by line: templates of a program, prompts of a shell.

A line that stood in every request before says nothing about what this one is after.
"""

from __future__ import annotations

from collections.abc import Sequence

MOST_LINES = 2000
"""Lines of a text beyond which it is not looked through."""


def without_boilerplate(text: str, before: Sequence[str]) -> str:
    """The text without the lines of several words that stand in each of the texts before it, too.

    Args:
        text: of the message in question.
        before: texts of the same writer before it; one alone makes no habit.

    Returns:
        What is left; the text itself if that would be nothing but white space. O(characters).
    """
    lines = text.split("\n")
    if len(before) < 2 or not 1 < len(lines) <= MOST_LINES:
        return text
    habits = set.intersection(*map(_lines_of_words, before))
    rest = [line for line in lines if line.strip() not in habits]
    return "\n".join(rest) if any(map(str.strip, rest)) else text


def _lines_of_words(text: str) -> set[str]:
    return {line for line in map(str.strip, text.split("\n")) if " " in line}
