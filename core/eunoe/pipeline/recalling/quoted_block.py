"""What is recalled as one quoted block: its text, and what that takes at most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from eunoe.domain.atom import Atom
from eunoe.domain.message import Message
from eunoe.pipeline.request import Request
from eunoe.stages.quoting import BLOCK_TOKENS, LINE_TOKENS, Quotation, quote_block, spoken_text

GIST_LINE_TOKENS = 8
"""Tokens of the line of a message shown in part, beyond text and name, at most."""
_LINE_SAVES = 1
"""Tokens by which a line is shorter than a message: number, speaker and line end take two or three
beside the text, the framing of a message four."""


def quotation_of(
    request: Request, atoms: Sequence[Atom], gists: Mapping[int, str] = MappingProxyType({})
) -> str:
    """The quoted block for some atoms, in the order given; empty for none.

    Args:
        gists: what stands in place of the text of some messages.
    """
    messages, known = request.messages, request.transcript.quotations
    offset = 0 if messages and messages[0].role == "user" else -1
    quotations: list[Quotation] = []
    for atom in atoms:
        for i in atom.indices:
            quotation = known.get(i) if i not in gists else None
            if quotation is None:
                text = gists.get(i) or spoken_text(messages[i])
                quotation = Quotation(atom.turn + offset, _speaker(messages[i]), text, i in gists)
                if i < request.turn_start and i not in gists:
                    known[i] = quotation
            if quotation.text:
                quotations.append(quotation)
    places = [atom.first for atom in atoms]
    in_order = places == sorted(places)
    return quote_block(quotations, in_order=in_order) if quotations else ""


def tokens_as_quoted(
    request: Request, places: NDArray[np.int64], tokens: NDArray[np.int64]
) -> NDArray[np.int64]:
    """About what atoms take in a quotation, which leaves out pictures, files and reasoning.

    An estimate to choose by; what is sent is counted.

    Args:
        places: shape (n,), of the atoms among all.
        tokens: shape (n,), what they take as they were given.
    """
    known = request.transcript.quoted_tokens
    quoted = tokens - _LINE_SAVES
    if not known:
        return quoted
    for k, place in enumerate(places.tolist()):
        if place in known:
            quoted[k] = min(int(quoted[k]), _tokens_in_words(request, place))
    return quoted


def _tokens_in_words(request: Request, place: int) -> int:
    known, messages = request.transcript.quoted_tokens, request.messages
    found = known[place]
    if found is None:
        said = [messages[i] for i in request.transcript.atoms[place].indices]
        found = request.count([{"role": m.role, "content": spoken_text(m)} for m in said])
        known[place] = found
    return found


def has_words(messages: Sequence[Message], atom: Atom) -> bool:
    """Whether a quotation has anything to show of an atom; reasoning alone is not quoted."""
    return any(messages[i].text or messages[i].calls or messages[i].media for i in atom.indices)


def most_quoted_tokens(
    request: Request,
    atoms: Sequence[Atom],
    block: str,
    gists: Mapping[int, str] = MappingProxyType({}),
) -> int:
    """An upper bound of a block's tokens as a message, from the tokens of what it quotes.

    A text in the block takes at most its own tokens and its line's framing, a name its tokens, each
    defused tag one more. So a block of thousands of tokens need not be counted anew each time.
    """
    quoted = [i for a in atoms for i in a.indices]
    entries, messages, count = request.entries, request.messages, request.counter.count
    whole = sum([entries[i].tokens for i in quoted if i not in gists])
    part = sum([GIST_LINE_TOKENS + count(gists[i]) for i in quoted if i in gists])
    speakers = [_speaker(messages[i]) for i in quoted if messages[i].name]
    size = {name: count(name) for name in dict.fromkeys(speakers)}
    named = sum([size[name] for name in speakers])
    return BLOCK_TOKENS + whole + part + named + LINE_TOKENS * len(quoted) + block.count("\\")


def _speaker(message: Message) -> str:
    return message.name if message.name and message.role == "user" else message.role
