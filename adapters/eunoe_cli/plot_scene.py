"""What a picture of one request shows: marks, turns, spans, the window, and the budget."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from eunoe import OrchestratorResult

MOST_LABELS = 5
_READ_CHARACTERS = 20_000
_SPEAKERS = ("user", "assistant", "tool", "function")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """One message of the chat.

    Attributes:
        turn: as people count.
        role, fate, tokens, reason: from the report.
        fit: how well it fits the question, 0 to 1.
        text: what it says.
        words: the words to call it by: what it says about the question, else its first words.
    """

    turn: int
    role: str
    fate: str
    fit: float
    tokens: int
    reason: str
    text: str
    words: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """A request, ready to be drawn.

    Attributes:
        question: what is asked.
        lines: what was sent, and why older messages came back or did not.
        marks: one for each message, oldest first.
        spans: first and last message of each stretch of turns that stands out.
        cut: where the window begins; None if nothing was cut.
        now: where the current turn begins.
        labelled: places of the messages that came back and fit best, in order.
        parts: tokens by what they are, in the order of the bar; ``free`` last.
        budget: tokens allowed; 0 without a limit.
    """

    question: str
    lines: tuple[str, ...]
    marks: tuple[Mark, ...]
    spans: tuple[tuple[int, int], ...]
    cut: int | None
    now: int
    labelled: tuple[int, ...]
    parts: tuple[tuple[str, int], ...]
    budget: int


def make_scene(title: str, given: Sequence[Mapping[str, Any]], result: OrchestratorResult) -> Scene:
    """Read a picture out of a request and its result.

    Args:
        title: what the request is called.
        given: the whole chat up to the request.
    """
    from eunoe.pipeline.chat.transcript import turn_bounds
    from eunoe.stages.structure.waveform import standing_places
    from eunoe.wire.openai import read_message
    from eunoe_cli.window_bar import window_parts

    report = result.report
    messages = [read_message(raw) for raw in given]
    bounds = turn_bounds(messages)
    first = 1 if messages and messages[0].role == "user" else 0
    turn_of = [k + first for k, (a, b) in enumerate(pairwise(bounds)) for _ in range(a, b)]
    marks = [
        Mark(
            turn=turn_of[d.index],
            role=m.role,
            fate=d.fate.value,
            fit=d.score,
            tokens=d.tokens,
            reason=d.reason,
            text=m.text or ", ".join(f"calls {c.name}" for c in m.calls),
        )
        for d, m in zip(report.decisions, messages, strict=True)
    ]
    now = bounds[-2] if len(bounds) > 1 else 0
    asked = next((i for i in range(now, len(messages)) if messages[i].role == "user"), now)
    question = marks[asked].text if marks else ""
    cut = report.cut.index if report.cut else None
    labelled = best_returned(marks, now if cut is None else min(cut, now))
    for i, words in zip(labelled, telling_words(question, marks, labelled), strict=True):
        marks[i] = replace(marks[i], words=words)
    limit = f" of {report.budget:,} allowed" if report.budget else ""
    about = "about " if report.estimated else ""
    sizes = window_parts(result)
    sizes["free"] = max(0, report.budget - sum(n for name, n in sizes.items() if name != "free"))
    history = "window" if cut is None or cut < now else "in place"
    return Scene(
        question=question,
        lines=(
            (
                f"{title}: policy {report.policy}, sent {about}{report.tokens_after:,} tokens"
                f"{limit}; the whole chat has {report.tokens_before:,}"
            ),
            f"recall: {report.recall_reason}" if report.recall_reason else "the chat fits whole",
        ),
        marks=tuple(marks),
        spans=tuple(standing_places([m.fit for m in marks[:now]], bounds)),
        cut=cut,
        now=now,
        labelled=labelled,
        parts=tuple((history if name == "history" else name, size) for name, size in sizes.items()),
        budget=report.budget,
    )


def best_returned(marks: Sequence[Mark], start: int) -> tuple[int, ...]:
    """The messages from before a place that are sent and fit best, one for each turn, in order.

    At most five; system messages are always sent and need no reason.
    """
    sent = [
        i
        for i, m in enumerate(marks[:start])
        if m.fate in ("kept", "recalled", "gist") and m.fit > 0 and m.role in _SPEAKERS
    ]
    best: dict[int, int] = {}
    for i in sorted(sent, key=lambda i: (-marks[i].fit, i)):
        best.setdefault(marks[i].turn, i)
    return tuple(sorted(list(best.values())[:MOST_LABELS]))


def telling_words(question: str, marks: Sequence[Mark], places: Sequence[int]) -> list[str]:
    """What each of some messages says about the question: the best sentence, or its first words."""
    from eunoe.stages.excerpts import cut_excerpt
    from eunoe.stages.scoring.words import terms_of_text

    asked = dict.fromkeys(terms_of_text(question))
    held = dict.fromkeys(asked, 0)
    for mark in marks:
        for term in held.keys() & set(terms_of_text(mark.text[:_READ_CHARACTERS])):
            held[term] += 1
    weights = {term: math.log1p(len(marks) / (1 + n)) for term, n in held.items()}

    def sizes(texts: Sequence[str]) -> list[int]:
        return [len(text) for text in texts]

    found = []
    for i in places:
        text = marks[i].text[:_READ_CHARACTERS]
        telling = (
            cut_excerpt(text, weights, terms_of_text, sizes, most) for most in (100, 200, 330)
        )
        found.append(next((t for t in telling if t), text))
    return found
