"""What the question of a turn is after, whatever it repeats and whatever it leaves unsaid."""

from __future__ import annotations

from collections.abc import Sequence

from eunoe.pipeline.chat.memory import ContentEntry
from eunoe.pipeline.chat.transcript import Transcript
from eunoe.stages.scoring.analysis import TextAnalysis, analyse_text
from eunoe.stages.scoring.boilerplate import without_boilerplate
from eunoe.stages.scoring.elliptical import is_elliptical

_HABIT_TURNS = 2
"""Turns in a row that must hold a line for it to be a habit."""
_MEANT_TURNS = 4
"""Turns before this one among which the question is looked for that it leaves unsaid."""


def place_of_meant(transcript: Transcript, entries: Sequence[ContentEntry], asked: int) -> int:
    """Place of the message that says what a question is after.

    That is the question itself, or the one that "When exactly?" and "Why?" go on from: what it
    needed is needed again.

    Args:
        transcript: the finished turns.
        entries: of the whole list.
        asked: place of the question.
    """
    if not is_elliptical(entries[asked].analysed()):
        return asked
    for turn in transcript.turns.view()[: -_MEANT_TURNS - 1 : -1].tolist():
        if entries[turn].message.role == "user" and not is_elliptical(entries[turn].analysed()):
            return int(turn)
    return asked


def without_habits(transcript: Transcript, asked: ContentEntry) -> TextAnalysis:
    """The analysis of a question, less the lines that users repeat in every turn."""
    text = asked.message.text
    if "\n" not in text:
        return asked.analysed()
    openings = transcript.turns.view()[-_HABIT_TURNS:]
    before = [transcript.messages[int(i)] for i in openings]
    rest = without_boilerplate(text, [m.text for m in before if m.role == "user"])
    if len(rest) == len(text):
        return asked.analysed()
    return analyse_text(rest, role=asked.message.role, name=asked.message.name)
