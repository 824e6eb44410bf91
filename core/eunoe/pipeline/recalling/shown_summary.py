"""Which summary a request shows, and which one should be written for a later one."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from itertools import islice
from typing import NamedTuple

from eunoe.domain.message import Message
from eunoe.pipeline.chat.memory import ContentEntry, key_bytes, meaning_text
from eunoe.pipeline.chat.transcript import Transcript
from eunoe.pipeline.request import Request
from eunoe.pipeline.summaries.honest import first_lines
from eunoe.pipeline.summaries.writing import SummaryDesk, SummaryJob, SummaryPiece
from eunoe.stages.quoting import OWN_HEADS, SUMMARY_TOKENS, summary_block
from eunoe.stages.window import WaterMarks, foreseen_cut

_SUMMARY_MOST_SHARE = 0.15
"""Share of the room that a summary takes at most."""
_SUMMARY_LEAST_TOKENS = 80
_SUMMARY_TURNS_BACK = 200
"""Turns before a cut in which a summary is looked for."""
_PIECE_TOKENS = 6_000
_MOST_PIECES = 6
_MOST_TOKENS = 60_000
"""Tokens of a chat that was never summed up, the newest before the cut, that are: older ones would
cost more calls than they are worth, and can be recalled."""
_SPOKEN_ENDS = 4_000, 2_000
_RESULT_ENDS = 800, 400
_KEY_BYTES = 16


@dataclass(frozen=True, slots=True)
class ShownSummary:
    """A summary at the head of the window.

    Attributes:
        block: as it is sent.
        stop: it sums up the messages before this place.
        most_tokens: an upper bound of its tokens as a message.
        near: whether it was written for this cut: it lacks one turn at most, or as much as a
            summary takes.
    """

    block: str
    stop: int
    most_tokens: int
    near: bool


def summary_room(request: Request, room: int) -> int:
    """Tokens that the window leaves for a summary; 0 where none is written."""
    if request.advisers.summaries is None:
        return 0
    most = min(request.settings.summary_tokens, int(room * _SUMMARY_MOST_SHARE))
    return most if most >= _SUMMARY_LEAST_TOKENS else 0


def shown_summary(request: Request, start: int, room: int) -> ShownSummary | None:
    """The newest summary of what lies before the window; the gist, if none could be written.

    Args:
        start: where the window begins; a turn start.
        room: tokens for the summary, of ``summary_room``.
    """
    desk = request.advisers.summaries
    if desk is None or not room or not start or request.flags.now.nosum:
        return None
    turn, text, near = _newest(request, desk, start, room)
    if not near:
        last = _turn_at(request, start)
        gist = desk.find_gist(_key_at(request, last))
        turn, text = (last, gist) if gist is not None else (turn, text)
    shown = first_lines(text, room - SUMMARY_TOKENS, request.counter.count) if text else None
    if shown is None:
        return None
    block = summary_block(shown)
    most = request.counter.count(block) + SUMMARY_TOKENS
    return ShownSummary(block, _place_of_turn(request, turn), most, near)


def due_summary(
    request: Request, marks: WaterMarks, start: int, room: int, shown: ShownSummary | None
) -> SummaryJob | None:
    """What should be written once this request is answered.

    The summary for this cut if there is none yet, else, as the window fills, the one for the next
    cut: that it will come at the latest then is known from the water marks.
    """
    desk = request.advisers.summaries
    if desk is None or not room:
        return None
    target = start
    if not start or request.flags.now.nosum or (shown is not None and shown.near):
        target = foreseen_cut(request.timeline, marks, start) or 0
        if not start < target <= request.turn_start:
            return None
        if _newest(request, desk, target, room).near:
            return None
    return _job_up_to(request, desk, target, room)


class _Found(NamedTuple):
    """The newest summary for a cut: the turn it stops before, its text, whether it is near."""

    turn: int
    text: str | None
    near: bool


def _newest(request: Request, desk: SummaryDesk, start: int, room: int) -> _Found:
    """The newest summary for a cut at ``start``; what other workers wrote if ours is not near."""
    last = _turn_at(request, start)
    keys = [_key_at(request, turn) for turn in range(last, max(0, last - _SUMMARY_TURNS_BACK), -1)]
    found = _Found(0, None, False)
    for _ in range(2):
        for k, key in enumerate(keys):
            if (text := desk.find(key)) is not None:
                found = _Found(last - k, text, _is_near(request, last - k, start, room))
                break
        if found.near or not desk.fetch(keys):
            break
    return found


def _is_near(request: Request, turn: int, start: int, room: int) -> bool:
    """Whether a summary up to a turn lacks little of what lies before a cut."""
    line, last = request.timeline, _turn_at(request, start)
    before = int(line.tokens[start] - line.system_tokens[start])
    return turn >= last - 1 or before - int(line.own_before_turns[turn]) <= room


def _place_of_turn(request: Request, turn: int) -> int:
    turns = request.transcript.turns.view()
    return int(turns[turn]) if turn < len(turns) else request.turn_start


def _job_up_to(request: Request, desk: SummaryDesk, target: int, room: int) -> SummaryJob | None:
    """The pieces from the newest summary on; None where the text is ours already."""
    last = _turn_at(request, target)
    first, before = 0, ""
    for turn in range(last - 1, 0, -1):
        text = desk.find(_key_at(request, turn))
        if text is not None:
            first, before = turn, text
            break
    if not before:
        own = request.timeline.own_before_turns
        first = int(own.searchsorted(int(own[last]) - _MOST_TOKENS))
    pieces = tuple(islice(_pieces(request, first, last), _MOST_PIECES))
    if any(text.startswith(OWN_HEADS) for piece in pieces for _, text in piece.messages):
        return None  # a host's loop goes on from what we sent: that was summed up before
    if not pieces:
        return None
    most = room - SUMMARY_TOKENS
    return SummaryJob(before, pieces, most, request.counter)


def _pieces(request: Request, first: int, last: int) -> Iterator[SummaryPiece]:
    """The turns from ``first`` to ``last`` in pieces of a size that a model can take."""
    transcript = request.transcript
    bounds = [*transcript.turns.view().tolist(), request.turn_start]
    held: list[ContentEntry] = []
    for turn in range(first, last):
        held += [
            transcript.entries[i]
            for i in range(bounds[turn], bounds[turn + 1])
            if not request.dropped_by_flag(i)
        ]
        tokens = sum(e.tokens for e in held)
        if tokens >= _PIECE_TOKENS or turn + 1 == last:
            spoken = [
                (m.role, meaning_text(m, *_shown_length(m))) for m in (e.message for e in held)
            ]
            messages = tuple((role, text) for role, text in spoken if text)
            if messages:
                yield SummaryPiece(_key_at(request, turn + 1), messages, tokens)
            held = []


def _shown_length(message: Message) -> tuple[int, int]:
    """Characters that a summarizer is shown of the head and the tail of a long message."""
    return _RESULT_ENDS if message.is_result else _SPOKEN_ENDS


def _turn_at(request: Request, place: int) -> int:
    """The turn that begins at a place; one past the last for the current turn."""
    return int(request.transcript.turns.view().searchsorted(place))


def _key_at(request: Request, turn: int) -> Hashable:
    """What names the messages before a turn, those apart that flags leave out."""
    chain = summary_chain(request.transcript)
    if not request.flags.by_message:
        return chain[turn]
    stop = _place_of_turn(request, turn)
    dropped = [i for i in request.flags.by_message if i < stop and request.dropped_by_flag(i)]
    return (chain[turn], *dropped) if dropped else chain[turn]


def summary_chain(transcript: Transcript) -> list[bytes]:
    """A hash over the messages before each turn, and before the current one; systems apart.

    Grown turn by turn, so that each message is hashed once.
    """
    chain = transcript.summary_chain
    if len(chain) == len(transcript.turns) + 1:
        return chain
    bounds = [*transcript.turns.view().tolist(), len(transcript.entries)]
    if not chain:
        chain.append(b"")
    for low, high in zip(bounds[len(chain) - 1 :], bounds[len(chain) :], strict=False):
        digest = blake2b(chain[-1], digest_size=_KEY_BYTES)
        for entry in transcript.entries[low:high]:
            if not entry.message.is_system:
                text = key_bytes(entry.key)
                digest.update(len(text).to_bytes(8, "little") + text)
        chain.append(digest.digest())
    return chain
