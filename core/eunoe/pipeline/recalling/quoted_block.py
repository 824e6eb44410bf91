"""What is recalled as one quoted block: its text, and what that takes at most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from eunoe.domain.atom import Atom
from eunoe.domain.message import Message
from eunoe.domain.report import Fate
from eunoe.pipeline.request import Request
from eunoe.stages.quoting import (
    BLOCK_TOKENS,
    LINE_TOKENS,
    Quotation,
    QuotedMessage,
    block_of_messages,
    quoted_line,
    spoken_text,
)
from eunoe.stages.selection.tiers import Tier

GIST_LINE_TOKENS = 8
"""Tokens of the line of a message shown in part, beyond text and name, at most."""
_PART_FATES = {Tier.GIST: Fate.GIST, Tier.SUMMARY: Fate.SUMMARISED, Tier.STUB: Fate.STUB}
QUOTED_LINE_SAVES = 1
"""Tokens by which a line is shorter than a message: number, speaker and line end take two or three
beside the text, the framing of a message four."""


class ShownPart(NamedTuple):
    """What stands in a quotation in place of the text of a message.

    Attributes:
        text: empty where another message of its atom speaks for it.
        tier: which form it is; never ``VERBATIM``.
        note: what stands in brackets behind the speaker.
    """

    text: str
    tier: Tier = Tier.GIST
    note: str = "excerpt"

    @property
    def fate(self) -> Fate:
        """The fate of a message that is shown so."""
        return _PART_FATES[self.tier]


_ALL_WHOLE: Mapping[int, ShownPart] = MappingProxyType({})


def quotation_of(
    request: Request, atoms: Sequence[Atom], parts: Mapping[int, ShownPart] = _ALL_WHOLE
) -> tuple[str, int]:
    """The quoted block for some atoms, in the order given, and an upper bound of its tokens.

    A text in the block takes at most its own tokens and its line's framing, a name its tokens, each
    defused tag one more. So a block of thousands of tokens need not be counted anew each time.

    Args:
        parts: what stands in place of the text of some messages.

    Returns:
        The block, empty if nothing in it has words, and its tokens as a message, at most.
    """
    known = request.transcript.quoted
    quoted = [
        known[i] if i in known and i not in parts else _quoted_message(request, atom.turn, i, parts)
        for atom in atoms
        for i in atom.indices
    ]
    spoken = [q for q in quoted if q.line]
    if not spoken:
        return "", 0
    places = [atom.first for atom in atoms]
    block = block_of_messages(spoken, in_order=places == sorted(places))
    defused = block.count("\\") if "\\" in block else 0  # to look is far quicker than to count
    return block, BLOCK_TOKENS + sum([q.most_tokens for q in quoted]) + defused


def _quoted_message(
    request: Request, turn: int, i: int, parts: Mapping[int, ShownPart]
) -> QuotedMessage:
    """One message as it is quoted; of finished turns that is remembered."""
    message, part, count = request.messages[i], parts.get(i), request.counter.count
    text = spoken_text(message) if part is None else part.text
    note = "" if part is None else part.note
    turn -= request.messages[0].role != "user"
    line = quoted_line(Quotation(turn, _speaker(message), text, note)) if text else ""
    if part is None:
        most = request.entries[i].tokens
    else:
        most = GIST_LINE_TOKENS + count(text if note == "excerpt" else f"{note} {text}")
    if message.name:
        most += count(_speaker(message))
    quoted = QuotedMessage(turn, line, most + LINE_TOKENS)
    if part is None and i < request.turn_start:
        request.transcript.quoted[i] = quoted
    return quoted


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
    quoted = tokens - QUOTED_LINE_SAVES
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


def _speaker(message: Message) -> str:
    return message.name if message.name and message.role == "user" else message.role
