"""The part of a long text that a question is about: a few sentences, marked where text is left out.

A text is split into sentences, lines and list items; the best runs of them hold much of what the
question asks in few tokens. Pure and linear in what is read, which is bounded for huge texts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from eunoe.domain.graphemes import whole_grapheme

EXCERPT_MARK = "…"
EXCERPT_READ_CHARACTERS = 48_000
"""Characters that are split into sentences; of a longer text the blocks that hold most terms."""

_EXCERPT_SCAN_CHARACTERS = 200_000
_EXCERPT_BLOCK_CHARACTERS = 4_000
_EXCERPT_UNIT_CHARACTERS = 320
_EXCERPT_WINDOW = 12
_EXCERPT_MOST_SPANS = 3
_EXCERPT_REPEATED = 0.2
_EXCERPT_PRICE = 0.35
"""Share of the question's weight that taking all tokens must bring."""
_EXCERPT_MARK_TOKENS = 2
_TITLES = "Mr Mrs Ms Dr Prof Rev Capt Lt Sgt Hr Fr Mme Mlle Sra Sig Dott St vs".split()
"""Words whose full stop ends no sentence: a name follows."""
_NO_TITLE = "".join(f"(?<!\\b{title}\\.)" for title in _TITLES)
_EXCERPT_SENTENCE = re.compile(
    "\n"
    f"|(?<=[^\\s.\\d][^\\s.][.!?…]){_NO_TITLE}[\"'”’)\\]]*\\s+"
    "|(?<=[!?])\\s+"
    "|(?<=[。！？；｡．።।॥։۔؟܀။።])[”’」』）]*\\s*"
)
_EXCERPT_SOFT_BREAKS = (", ", "; ", "，", "、", ",", " ", "\u0e46")


@dataclass(frozen=True, slots=True)
class ExcerptUnit:
    """A sentence, line or item, ``text[start:end]``: terms of the question in it, its tokens."""

    start: int
    end: int
    terms: frozenset[str]
    tokens: int


def cut_excerpt(
    text: str,
    weights: Mapping[str, float],
    terms_of: Callable[[str], Iterable[str]],
    count_batch: Callable[[Sequence[str]], Sequence[int]],
    max_tokens: int,
) -> str | None:
    """What the text says about the question, in at most so many tokens.

    Args:
        text: any text.
        weights: the terms of the question and what each is worth (idf), above 0.
        terms_of: the terms of a piece of text.
        count_batch: tokens of each of some texts.
        max_tokens: of the excerpt, its marks included.

    Returns:
        Runs of whole sentences with ``…`` where text is left out; None if no sentence that fits
        holds a term of the question.
    """
    units = _excerpt_units(text, weights, terms_of, count_batch)
    worth = local_worth(units, weights)
    spans = best_spans(units, worth, max_tokens - 2 * _EXCERPT_MARK_TOKENS)
    if not spans:
        return None
    wide = with_context(units, spans, max_tokens - _EXCERPT_MARK_TOKENS * (len(spans) + 1))
    for tried in (wide, *(spans[:k] for k in range(len(spans), 0, -1))):
        excerpt = _joined_spans(text, units, tried)
        if count_batch([excerpt])[0] <= max_tokens:
            return excerpt
    return None


def split_sentences(text: str, start: int, stop: int) -> list[tuple[int, int]]:
    """Sentences, lines and list items of ``text[start:stop]``: places without white space around.

    What is longer than 320 characters is split at a comma, a space or between graphemes.
    """
    pieces: list[tuple[int, int]] = []
    begin = start
    for found in _EXCERPT_SENTENCE.finditer(text, start, stop):
        _add_pieces(text, begin, found.end(), pieces)
        begin = found.end()
    _add_pieces(text, begin, stop, pieces)
    return pieces


def _add_pieces(text: str, begin: int, end: int, pieces: list[tuple[int, int]]) -> None:
    while begin < end and text[begin].isspace():
        begin += 1
    while end > begin and text[end - 1].isspace():
        end -= 1
    while end - begin > _EXCERPT_UNIT_CHARACTERS:
        cut = _soft_break(text, begin, begin + _EXCERPT_UNIT_CHARACTERS)
        pieces.append((begin, cut))
        begin = cut
    if end > begin:
        pieces.append((begin, end))


def _soft_break(text: str, begin: int, limit: int) -> int:
    for mark in _EXCERPT_SOFT_BREAKS:
        found = text.rfind(mark, begin + _EXCERPT_UNIT_CHARACTERS // 2, limit)
        if found > 0:
            return whole_grapheme(text, found + len(mark), 1)
    return whole_grapheme(text, limit, 1)


def _excerpt_units(
    text: str,
    weights: Mapping[str, float],
    terms_of: Callable[[str], Iterable[str]],
    count_batch: Callable[[Sequence[str]], Sequence[int]],
) -> list[ExcerptUnit]:
    places = [
        piece
        for start, stop in regions_to_read(text, weights)
        for piece in split_sentences(text, start, stop)
    ]
    texts = [text[a:b] for a, b in places]
    return [
        ExcerptUnit(a, b, frozenset(t for t in terms_of(piece) if t in weights), tokens + 1)
        for (a, b), piece, tokens in zip(places, texts, count_batch(texts), strict=True)
    ]


def regions_to_read(text: str, weights: Mapping[str, float]) -> list[tuple[int, int]]:
    """The parts of a text that are split, in order: all of it, or the blocks that hold most terms.

    Of a text over 400,000 characters the first and the last 200,000 are looked at.
    """
    size = len(text)
    if size <= EXCERPT_READ_CHARACTERS:
        return [(0, size)]
    blocks = [
        (a, min(size, a + _EXCERPT_BLOCK_CHARACTERS))
        for a in range(0, size, _EXCERPT_BLOCK_CHARACTERS)
        if a < _EXCERPT_SCAN_CHARACTERS or a >= size - _EXCERPT_SCAN_CHARACTERS
    ]
    needles = [(t[:-1] if t.isascii() and len(t) > 4 else t, w) for t, w in weights.items()]
    held = []
    for k, (a, b) in enumerate(blocks):
        block = text[a:b].lower()
        held.append((-sum(w for needle, w in needles if needle in block), k))
    best = sorted(
        k for _, k in sorted(held)[: EXCERPT_READ_CHARACTERS // _EXCERPT_BLOCK_CHARACTERS]
    )
    regions: list[tuple[int, int]] = []
    for k in best:
        a, b = blocks[k]
        a, b = whole_grapheme(text, a, 1), whole_grapheme(text, b, 1)
        if regions and regions[-1][1] == a:
            regions[-1] = (regions[-1][0], b)
        else:
            regions.append((a, b))
    return regions


def local_worth(units: Sequence[ExcerptUnit], weights: Mapping[str, float]) -> dict[str, float]:
    """What each term of the question is worth here: ``idf * ln(1 + units/(units that hold it))``.

    A word that stands in every sentence of a text tells its sentences apart no more. The sum is 1.
    """
    held: dict[str, int] = {}
    for unit in units:
        for term in unit.terms:
            held[term] = held.get(term, 0) + 1
    worth = {
        term: weight * math.log1p(len(units) / held[term])
        for term, weight in weights.items()
        if term in held
    }
    total = sum(worth.values())
    return {term: value / total for term, value in worth.items()} if total > 0.0 else {}


def best_spans(
    units: Sequence[ExcerptUnit], worth: Mapping[str, float], room: int
) -> list[tuple[int, int]]:
    """The best runs of units, first and last, in order; together they fit in the room.

    A run is worth the terms that it covers minus a price for its length; terms that an earlier
    run covers count a fifth. Each begins and ends with a unit that holds a term.
    """
    value = dict(worth)
    left = room
    spans: list[tuple[int, int]] = []
    taken: set[int] = set()
    while len(spans) < _EXCERPT_MOST_SPANS and left > 0:
        found = _best_run(units, value, taken, left, room)
        if found is None:
            break
        first, last = found
        spans.append(found)
        taken.update(range(first, last + 1))
        left -= sum(u.tokens for u in units[first : last + 1]) + _EXCERPT_MARK_TOKENS
        for term in {t for u in units[first : last + 1] for t in u.terms}:
            value[term] = worth[term] * _EXCERPT_REPEATED
    return sorted(spans)


def _best_run(
    units: Sequence[ExcerptUnit],
    value: Mapping[str, float],
    taken: set[int],
    left: int,
    room: int,
) -> tuple[int, int] | None:
    best, most = None, 0.0
    price = _EXCERPT_PRICE / max(1, room)
    for first in range(len(units)):
        if not units[first].terms or first in taken:
            continue
        covered: set[str] = set()
        gain, size = 0.0, 0
        for last in range(first, min(len(units), first + _EXCERPT_WINDOW)):
            unit = units[last]
            size += unit.tokens
            if size > left or last in taken:
                break
            fresh = unit.terms - covered
            if not unit.terms:
                continue
            gain += sum(value[t] for t in sorted(fresh))
            covered |= fresh
            if gain - price * size > most:
                best, most = (first, last), gain - price * size
    return best


def with_context(
    units: Sequence[ExcerptUnit], spans: Sequence[tuple[int, int]], room: int
) -> list[tuple[int, int]]:
    """The runs with what follows them, and what leads to them, as far as the room goes.

    What answers a question often stands in the sentence after the one that shares its words.
    """
    grown = [list(span) for span in spans]
    left = room - sum(u.tokens for a, b in spans for u in units[a : b + 1])
    taken = {k for a, b in spans for k in range(a, b + 1)}
    for side in (1, 1, -1, 1, -1):
        for span in grown:
            k = span[1] + 1 if side > 0 else span[0] - 1
            if 0 <= k < len(units) and k not in taken and units[k].tokens <= left:
                span[side > 0] = k
                taken.add(k)
                left -= units[k].tokens
    return [(a, b) for a, b in grown]


def _joined_spans(text: str, units: Sequence[ExcerptUnit], spans: Sequence[tuple[int, int]]) -> str:
    """The runs as text, marks between them and at the ends where text is left out."""
    pieces: list[str] = []
    end = 0
    for first, last in spans:
        start = units[first].start
        between = text[end : min(start, end + EXCERPT_READ_CHARACTERS)]
        if between and not between.isspace():
            pieces.append(f" {EXCERPT_MARK} " if pieces else f"{EXCERPT_MARK} ")
        elif pieces:
            pieces.append(between)
        end = units[last].end
        pieces.append(text[start:end])
    rest = text[end : end + EXCERPT_READ_CHARACTERS]
    return "".join(pieces) + (f" {EXCERPT_MARK}" if rest and not rest.isspace() else "")
