"""Shorten one text: cut out its middle at a boundary, and say so where it was cut."""

from __future__ import annotations

import re
from collections.abc import Callable

from eunoe.domain.graphemes import whole_grapheme

_HEAD_SHARE = 0.7
_BOUNDARIES = ("\n\n", "\n", ". ", " ")
_SOURCE_OPENS = re.compile(r"<source\b[^>]{0,2000}>")
_SOURCE_ENDS = "</source>"


def clip_text(text: str, max_tokens: int, count: Callable[[str], int]) -> str | None:
    """The head and tail of a text around a marker, at most ``max_tokens`` long.

    The cut stands at a paragraph, line, sentence or word where one is near, never inside a
    code point, a grapheme or an emoji sequence.

    Args:
        text: any text; linear in its size.
        max_tokens: tokens that the result may take.
        count: tokens of a text.

    Returns:
        The clipped text; None if not even four characters and the marker fit.
    """
    keep = min(len(text) - 1, max_tokens * 12)
    for _ in range(12):
        if keep < 8:
            return None
        clipped = _clip_to_characters(text, keep)
        size = count(clipped)
        if size <= max_tokens:
            return clipped
        keep = min(keep - 1, int(keep * max(0.3, 0.97 * max_tokens / size)))
    return None


def _clip_to_characters(text: str, keep: int) -> str:
    head_end = _boundary_before(text, max(4, int(keep * _HEAD_SHARE)))
    tail_start = _boundary_after(text, len(text) - max(0, keep - head_end))
    left_out = tail_start - head_end
    return f"{text[:head_end]}\n… [{left_out:,} characters left out] …\n{text[tail_start:]}"


def _boundary_before(text: str, place: int) -> int:
    near = max(4, place - max(16, place // 8))
    for mark in _BOUNDARIES:
        found = text.rfind(mark, near, place)
        if found > 0:
            return found + len(mark)
    return whole_grapheme(text, place, -1)


def _boundary_after(text: str, place: int) -> int:
    near = min(len(text), place + max(16, (len(text) - place) // 8))
    for mark in _BOUNDARIES:
        found = text.find(mark, place, near)
        if found >= 0:
            return found + len(mark)
    return whole_grapheme(text, place, 1)


def clip_sources(text: str, max_tokens: int, count: Callable[[str], int]) -> str | None:
    """Shorten the insides of ``<source>`` blocks first, all by the same share.

    Returns:
        The shortened text, or None if there are no such blocks or they cannot free enough.
    """
    blocks = _insides_of_sources(text)
    if not blocks:
        return None
    sizes = [count(text[start:end]) for start, end in blocks]
    spare = count(text) - max_tokens
    if spare <= 0:
        return text
    for pressure in (1.05, 1.4):
        share = 1 - spare * pressure / max(1, sum(sizes))
        if share <= 0.02:
            return None
        pieces, done = [], 0
        for (start, end), size in zip(blocks, sizes, strict=True):
            inside = clip_text(text[start:end], max(8, int(size * share)), count)
            pieces += [text[done:start], inside if inside is not None else "…"]
            done = end
        clipped = "".join([*pieces, text[done:]])
        if count(clipped) <= max_tokens:
            return clipped
    return None


def _insides_of_sources(text: str) -> list[tuple[int, int]]:
    """Where the insides of ``<source>`` blocks begin and end; linear, however many stay open."""
    found: list[tuple[int, int]] = []
    place = 0
    while (opening := _SOURCE_OPENS.search(text, place)) is not None:
        end = text.find(_SOURCE_ENDS, opening.end())
        if end < 0:
            break
        found.append((opening.end(), end))
        place = end + len(_SOURCE_ENDS)
    return found
