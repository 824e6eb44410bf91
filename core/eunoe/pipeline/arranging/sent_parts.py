"""What fills the window of a request: tokens of the list that is sent, by what they are."""

from __future__ import annotations

from collections.abc import Sequence

from eunoe.domain.message import SYSTEM_ROLES
from eunoe.domain.nesting import json_text
from eunoe.domain.placement import Placement
from eunoe.domain.report import Fate, Report
from eunoe.wire.result_blocks import speaks_as_user

SENT_PARTS = ("system", "tools", "summary", "window", "recalled", "question")


def tokens_by_part(placements: Sequence[Placement], report: Report) -> dict[str, int]:
    """Tokens by part, in order; they add up to ``report.tokens_after``.

    Messages that are sent as they came have the tokens that were counted. What was written anew
    shares the rest by its length; what opens the question's own message counts as recalled.

    Args:
        placements: what is sent.
        report: of the request.
    """
    sizes = report.decisions.sizes
    question = _question_place(placements)
    parts = dict.fromkeys(SENT_PARTS, 0)
    written: list[tuple[str, int]] = []
    for place, placed in enumerate(placements):
        part = _part_of(placed, in_question=place >= question)
        if placed.index is not None and not placed.changed:
            parts[part] += int(sizes[placed.index])
        else:
            written.append((part, 4 + len(json_text(placed.message.get("content"))) // 4))
    parts["tools"] = report.tool_tokens
    rest = max(0, report.tokens_after - sum(parts.values()))
    if written and report.recalled and all(part != "recalled" for part, _ in written):
        written = _with_block_apart(written, placements, question, sizes)
    weight, reached = sum(size for _, size in written), 0
    for part, size in written:
        upto = reached + size
        parts[part] += rest * upto // weight - rest * reached // weight
        reached = upto
    if not written:  # the framing of the list: it opens the answer
        parts["question"] += rest
    return {name: tokens for name, tokens in parts.items() if tokens}


def _question_place(placements: Sequence[Placement]) -> int:
    """Where the current turn begins in what is sent; behind it if no user speaks."""
    for place in range(len(placements) - 1, -1, -1):
        placed = placements[place]
        if placed.index is not None and speaks_as_user(placed.message):
            return place
    return len(placements)


def _part_of(placed: Placement, *, in_question: bool) -> str:
    if placed.message.get("role") in SYSTEM_ROLES:
        return "system"
    if placed.index is None and placed.fate is Fate.SUMMARISED:
        return "summary"
    if placed.index is None and placed.fate is not Fate.STUB:
        return "recalled"
    return "question" if in_question else "window"


def _with_block_apart(
    written: list[tuple[str, int]],
    placements: Sequence[Placement],
    question: int,
    sizes: Sequence[int],
) -> list[tuple[str, int]]:
    """The block that opens the question's own message, told apart from it."""
    if question >= len(placements) or not placements[question].changed:
        return written
    own = int(sizes[placements[question].index or 0])
    whole = next((size for part, size in written if part == "question"), 0)
    if whole <= own:
        return written
    rest = list(written)
    rest.remove(("question", whole))
    return [*rest, ("recalled", whole - own), ("question", own)]
