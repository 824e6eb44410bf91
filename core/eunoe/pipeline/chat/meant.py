"""What the question of a turn is after, whatever it repeats and whatever it leaves unsaid."""

from __future__ import annotations

from collections.abc import Sequence

from eunoe.pipeline.chat.memory import ContentEntry
from eunoe.pipeline.chat.transcript import Transcript
from eunoe.stages.scoring.analysis import TextAnalysis, analyse_text
from eunoe.stages.scoring.boilerplate import without_boilerplate
from eunoe.stages.scoring.cues import CUE_RECALL, CUE_WANTS
from eunoe.stages.scoring.elliptical import goes_on, is_elliptical
from eunoe.stages.scoring.profile import cues_of

_HABIT_TURNS = 2
"""Turns in a row that must hold a line for it to be a habit."""
_MEANT_TURNS = 4
"""Turns before this one among which the question is looked for that it goes on from."""
_MEANT_WORDS = 72
"""Words of that question at most: a longer text is about more than one matter."""


def place_of_meant(transcript: Transcript, entries: Sequence[ContentEntry], asked: int) -> int:
    """Place of the message that says what a question is about.

    That is the question itself, or the one that it goes on from, as "When exactly?" and "And the
    port?" do: what that one needed is needed again.

    Args:
        transcript: the finished turns.
        entries: of the whole list.
        asked: place of the question.
    """
    if not _leans(entries[asked]):
        return asked
    for turn in transcript.turns.view()[: -_MEANT_TURNS - 1 : -1].tolist():
        if entries[turn].message.role == "user" and not _leans(entries[turn]):
            return int(turn) if _asks_for_one_thing(entries[turn]) else asked
    return asked


def _asks_for_one_thing(entry: ContentEntry) -> bool:
    """Whether a message is a question, or a wish for something, and no long text."""
    analysis = entry.analysed()
    wants = analysis.asks or cues_of(analysis) & (CUE_WANTS | CUE_RECALL) != 0
    return wants and analysis.words <= _MEANT_WORDS


def _leans(entry: ContentEntry) -> bool:
    analysis = entry.analysed()
    return is_elliptical(analysis) or goes_on(analysis)


def meant_together(before: ContentEntry, asked: ContentEntry) -> TextAnalysis:
    """What a question is after that goes on from one before it: that one, and what it adds."""
    if is_elliptical(asked.analysed()):
        return before.analysed()
    message = before.message
    both = f"{message.text}\n{asked.message.text}"
    return analyse_text(both, role=message.role, name=message.name)


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
