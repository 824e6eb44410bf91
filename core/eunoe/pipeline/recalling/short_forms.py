"""Shorter forms of what is too long to come back whole: an excerpt, a summary of its own, a stub.

They are the tiers below the whole text, see ``selection.tiers``.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from hashlib import blake2b

from eunoe.domain.atom import Atom
from eunoe.domain.graphemes import whole_grapheme
from eunoe.pipeline.chat.memory import key_bytes, meaning_text
from eunoe.pipeline.recalling.quoted_block import ShownPart
from eunoe.pipeline.request import Request
from eunoe.pipeline.summaries.writing import SummaryJob, SummaryPiece
from eunoe.stages.excerpts import split_sentences
from eunoe.stages.quoting import spoken_text
from eunoe.stages.selection.tiers import Tier

FORM_LINE_TOKENS = 12
"""Tokens of the line of a shorter form beyond its text, at most: turn, speaker, note, framing."""

OWN_SUMMARY_TOKENS = 150
"""Tokens of the summary of one atom at most."""

STUB_CHARACTERS = 80
"""Characters of a stub at most, its mark apart."""

_SUMMED_UP_FROM = 400
"""Tokens from which an atom is summed up on its own: what is shorter is cut to an excerpt as well
as summed up."""
_SHOWN_ENDS = 12_000, 4_000
"""Characters that a summarizer is shown of the head and the tail of a message."""


@dataclass(frozen=True, slots=True)
class ShortForm:
    """A shorter form in which an atom, or one message of it, comes back.

    Attributes:
        atom: what it stands for.
        tier: which form it is; never ``VERBATIM``.
        text: what is quoted.
        tokens: its tokens, line included, at most.
        covered: share of the question's weight that it holds, in [0, 1].
        note: what stands in brackets behind the speaker.
    """

    atom: Atom
    tier: Tier
    text: str
    tokens: int
    covered: float = 0.0
    note: str = "excerpt"

    def parts(self) -> dict[int, ShownPart]:
        """What stands in the place of each message of the atom: all of it at the first."""
        first, *rest = self.atom.indices
        return {
            first: ShownPart(self.text, self.tier, self.note),
            **{i: ShownPart("", self.tier, self.note) for i in rest},
        }


def stub_of(request: Request, atom: Atom) -> ShortForm | None:
    """One line that names an atom: who speaks, in which turn, how long, how it begins."""
    said = (spoken_text(request.messages[i]) for i in atom.indices)
    text = stub_text(next((text for text in said if text), "")[: 4 * STUB_CHARACTERS])
    if not text:
        return None
    note = stub_note(request.tokens_of(atom))
    tokens = request.counter.count(f"{text} ({note})") + FORM_LINE_TOKENS
    return ShortForm(atom, Tier.STUB, text, tokens, note=note)


def stub_text(text: str, most: int = STUB_CHARACTERS) -> str:
    """How a text begins: its first sentence in one line, cut at a word if it is long.

    Args:
        text: any text; its beginning is enough.
        most: characters at most, above 0; a grapheme is never cut.

    Returns:
        The opening with `` …`` behind it; empty if the text has no words.
    """
    head = text[: 4 * most].lstrip()
    pieces = split_sentences(head, 0, len(head))
    if not pieces:
        return ""
    start, stop = pieces[0]
    line = " ".join(head[start:stop].split())
    if len(line) > most:
        place = line.rfind(" ", most // 2, most + 1)
        line = line[: place if place > 0 else whole_grapheme(line, most, -1)]
    return f"{line} …" if line else ""


def stub_note(tokens: int) -> str:
    """What a stub says of the size of what it names.

    Args:
        tokens: of what is not shown, at least 0.
    """
    return f"not shown, {tokens:,} tokens"


def own_summary_of(request: Request, atom: Atom) -> ShortForm | None:
    """The summary that was written of exactly this atom; None if there is none."""
    desk = request.advisers.summaries
    if desk is None or request.flags.now.nosum:
        return None
    text = desk.find(own_summary_key(request, atom))
    if text is None:
        return None
    line = " ".join(text.split())
    tokens = request.counter.count(line) + FORM_LINE_TOKENS
    return ShortForm(atom, Tier.SUMMARY, line, tokens, note="summary")


def own_summary_job(request: Request, atom: Atom) -> SummaryJob | None:
    """What should be written of an atom once the request is answered; None if it is short."""
    desk, tokens = request.advisers.summaries, request.tokens_of(atom)
    if desk is None or request.flags.now.nosum or tokens < _SUMMED_UP_FROM:
        return None
    said = [
        (request.messages[i].role, meaning_text(request.messages[i], *_SHOWN_ENDS))
        for i in atom.indices
    ]
    messages = tuple((role, text) for role, text in said if text)
    if not messages:
        return None
    piece = SummaryPiece(own_summary_key(request, atom), messages, tokens)
    return SummaryJob("", (piece,), OWN_SUMMARY_TOKENS, request.counter)


def own_summary_key(request: Request, atom: Atom) -> Hashable:
    """What names an atom by its content, wherever it stands; never that of a chat's beginning."""
    digest = blake2b(b"atom", digest_size=16)
    for i in atom.indices:
        text = key_bytes(request.entries[i].key)
        digest.update(len(text).to_bytes(8, "little") + text)
    return ("atom", digest.digest())
