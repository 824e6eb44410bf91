"""A chat, grown message by message: its turns, atoms, tokens and relevance index.

The finished turns are appended once and never looked at again; only the current turn is read anew
at each request.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray

from eunoe.domain.atom import Atom
from eunoe.domain.errors import TimeIsOverError
from eunoe.domain.message import Message
from eunoe.pipeline.chat.call_ids import note_call_ids, note_unpaired
from eunoe.pipeline.chat.chat_memory import ChatMemory
from eunoe.pipeline.chat.growing_column import GrowingColumn
from eunoe.pipeline.chat.memory import ContentEntry, ContentMemory, Grown
from eunoe.pipeline.chat.opinion_memory import OpinionMemory
from eunoe.pipeline.chat.sent_windows import SentWindows
from eunoe.stages.atoms import build_atoms, opens_turn
from eunoe.stages.counting.message_cost import REPLY_PRIMING
from eunoe.stages.quoting import QuotedMessage, is_quoted_in_part
from eunoe.stages.scoring.analysis import TextAnalysis
from eunoe.stages.scoring.index import RelevanceIndex
from eunoe.stages.scoring.live_values import ValueRows
from eunoe.stages.scoring.profile import Relevance
from eunoe.stages.scoring.term_rows import TermRows
from eunoe.stages.scoring.vectors import VectorTable
from eunoe.stages.structure.stance import Stance
from eunoe.stages.validity import beyond_talk
from eunoe.stages.window import Timeline, WaterMarks

_CHECK_EVERY = 64
_MOST_COUNTERS = 4


class Transcript(Grown):
    """The finished turns of one chat.

    Attributes:
        tokens_before: tokens of all messages before each place, the end included;
            ``system_tokens_before``: those of system messages alone.
        turns: places where the turns begin; the first turn begins at 0, whoever speaks.
        atoms: the atoms of the finished turns, in order; the columns beside them say where each
            begins, its tokens, and whether it is a system message; ``system_places`` are those.
        atom_of_message: which atom holds each message.
        beyond_talk: places of the messages that are no plain talk.
        atoms_before_turn: how many atoms stand before each turn.
        answered: the question that was last asked of all of them, what words alone answer, and the
            relevance lifted by cues.
        vectors: the embeddings that are known, by the name of what embeds.
        used_ids: ids of all calls and results; ``repeated_ids`` were used by more than one call.
        loose: places of the results that found no call, by id; ``open_calls``: places of the calls
            that got no result for an id.
        thinking_mode: some message carries the reasoning that a provider wants back.
        tool_flow_before: how many messages before each place call a tool or bring a result.
        carried: what the last few cuts carried over, by cut; worked out once for each.
        quoted_tokens: what an atom takes in a quotation, by its place, for those of which it leaves
            something out; None until it is asked for.
        quoted: messages that were quoted, by place.
        cuts: the last cut in the finished turns that a replay came to, for a few water marks: where
            the window began, and the request before which it was made.
    """

    def __init__(self, counted_by: str) -> None:
        super().__init__(counted_by)
        self.tokens_before = GrowingColumn([0])
        self.system_tokens_before = GrowingColumn([0])
        self.turns = GrowingColumn()
        self.requests = GrowingColumn()
        self.turn_of_message = GrowingColumn()
        self.atoms: list[Atom] = []
        self.atom_first = GrowingColumn()
        self.atom_tokens = GrowingColumn()
        self.quoted_tokens: dict[int, int | None] = {}
        self.atom_system = GrowingColumn()
        self.system_places: list[int] = []
        self.atom_of_message = GrowingColumn()
        self.atoms_before_turn = GrowingColumn()
        self.index = RelevanceIndex()
        self.answered: tuple[TextAnalysis, Relevance, NDArray[np.float64]] | None = None
        self.vectors: dict[str, VectorTable] = {}
        self.rows = TermRows()
        self.beyond_talk: list[int] = []
        self.used_ids: set[str | None] = set()
        self.called_ids: set[str | None] = set()
        self.repeated_ids: set[str | None] = set()
        self.loose: dict[str | None, list[int]] = {}
        self.open_calls: dict[str | None, list[int]] = {}
        self.thinking_mode = False
        self.tool_flow_before = GrowingColumn([0])
        self.carried: dict[object, tuple[int, ...]] = {}
        self.quoted: dict[int, QuotedMessage] = {}
        self.cuts: dict[WaterMarks, tuple[int, int]] = {}
        self.values = ValueRows()
        self.summary_chain: list[bytes] = []
        self.sent = SentWindows()

    def opens(self, entries: Sequence[ContentEntry]) -> bool:
        """Whether all its messages open the given list, and a turn ends there in that list too."""
        size = len(self.entries)
        if 0 < size < len(entries) and not opens_turn(
            entries[size].message, entries[size - 1].message
        ):
            return False
        return super().opens(entries)

    def grow(self, entries: Sequence[ContentEntry]) -> None:
        """Append finished turns: ``entries`` begins where the transcript ends, with a new turn."""
        self.whole, self.answered = False, None
        start, first_turn = len(self.entries), len(self.turns)
        self.note_entries(entries)
        messages = self.messages[start:]
        self.beyond_talk += beyond_talk(self.messages, start)
        own, systems = token_columns(entries)
        self.tokens_before.add_up(own)
        self.system_tokens_before.add_up(systems)
        self.requests.extend(
            [start + i for i, m in enumerate(messages) if m.role == "assistant" and start + i]
        )
        self.thinking_mode = self.thinking_mode or any(m.shape.reasoning_field for m in messages)
        self.tool_flow_before.add_up([int(bool(m.calls) or m.is_result) for m in messages])
        note_call_ids([m for m in messages if m.calls], self.called_ids, self.repeated_ids)
        bounds = [start + b for b in turn_bounds(messages)]
        atoms: list[Atom] = []
        for turn, (low, high) in enumerate(pairwise(bounds), first_turn):
            self.atoms_before_turn.extend([len(self.atoms) + len(atoms)])
            atoms += build_atoms(self.messages, low, high, turn, self.used_ids)
            flow = [m for m in self.messages[low:high] if m.calls or m.is_result]
            self.used_ids.update([key for m in flow if m.is_result for key in m.answered])
            self.used_ids.update([c.id for m in flow for c in m.calls])
        self.turns.extend(bounds[:-1])
        self.turn_of_message.extend(
            [t for t, (a, b) in enumerate(pairwise(bounds), first_turn) for _ in range(a, b)]
        )
        self._add_atoms(atoms, start)
        self.whole = True

    def _add_atoms(self, atoms: list[Atom], start: int) -> None:
        """Append the atoms of the messages from ``start`` on."""
        base, entries = len(self.atoms), self.entries
        self.atoms += atoms
        note_unpaired(atoms, self.messages, self.loose, self.open_calls)
        self.atom_first.extend([a.first for a in atoms])
        self.atom_tokens.extend([sum([entries[i].tokens for i in a.indices]) for a in atoms])
        self.quoted_tokens.update(
            (k, None)
            for k, a in enumerate(atoms, base)
            if any(is_quoted_in_part(self.messages[i]) for i in a.indices)
        )
        self.atom_system.extend([int(a.system) for a in atoms])
        self.system_places += [k for k, a in enumerate(atoms, base) if a.system]
        holder = [0] * (len(entries) - start)
        for k, atom in enumerate(atoms, base):
            for i in atom.indices:
                holder[i - start] = k
        self.atom_of_message.extend(holder)

    def indexed(self, expired: Callable[[], bool]) -> RelevanceIndex:
        """The relevance index over all finished turns; what was indexed before is not read again.

        Raises:
            TimeIsOverError: ``expired`` says so; what was indexed by then is kept.
        """
        turns = self.turn_of_message.view()
        while (start := len(self.index)) < len(self.entries):
            if start % _CHECK_EVERY == 0 and expired():
                raise TimeIsOverError("indexing was given up")
            stop = start + _CHECK_EVERY - start % _CHECK_EVERY
            new = self.entries[start:stop]
            self.index.extend(
                [e.analysed() for e in new],
                turns=turns[start:stop].tolist(),
                tokens=[e.tokens for e in new],
            )
        return self.index

    def term_rows(self, expired: Callable[[], bool]) -> TermRows:
        """Term rows of all finished turns, for the presets; made when one of them asks first.

        Raises:
            TimeIsOverError: ``expired`` says so; what was read by then is kept.
        """
        for i in range(len(self.rows), len(self.entries)):
            if i % _CHECK_EVERY == 0 and expired():
                raise TimeIsOverError("reading terms was given up")
            self.rows.append(self.entries[i].analysed())
        return self.rows


def turn_bounds(messages: Sequence[Message]) -> list[int]:
    """Where turns begin in a list that opens a turn, and the list's end; [0] if it is empty."""
    starts = [
        i
        for i, m in enumerate(messages)
        if i and m.role == "user" and opens_turn(m, messages[i - 1])
    ]
    return [0, *starts, len(messages)] if messages else [0]


def last_turn_start(entries: Sequence[ContentEntry]) -> int:
    """Where the current turn begins; 0 if no user message opens one."""
    for i in range(len(entries) - 1, 0, -1):
        message = entries[i].message
        if message.role == "user" and opens_turn(message, entries[i - 1].message):
            return i
    return 0


def token_columns(entries: Sequence[ContentEntry]) -> tuple[list[int], list[int]]:
    """Tokens of each message, and the same with 0 for all but system messages."""
    own = [e.tokens for e in entries]
    return own, [e.tokens if e.message.is_system else 0 for e in entries]


def forced_tokens(transcript: Transcript, open_turn: Sequence[ContentEntry]) -> int:
    """Tokens of what may not be cut: system messages, the current turn, the list's framing."""
    systems = int(transcript.system_tokens_before.view()[-1])
    return systems + sum(e.tokens for e in open_turn) + REPLY_PRIMING


def chat_timeline(transcript: Transcript, base: int, entries: Sequence[ContentEntry]) -> Timeline:
    """The chat as the window sees it: the finished turns and the current one.

    Args:
        transcript: holds the finished turns; it may have grown since.
        base: where the current turn begins.
        entries: of the whole chat.
    """
    own, systems = token_columns(entries[base:])
    roles = [e.message.role for e in entries[base:]]
    asked = [i for i, role in enumerate(roles, base) if role == "assistant" and i]
    return Timeline(
        tokens=_longer_sum(transcript.tokens_before, base, own),
        system_tokens=_longer_sum(transcript.system_tokens_before, base, systems),
        turn_starts=_longer(transcript.turns, base, [base] if roles else []),
        requests=_longer(transcript.requests, base, asked),
        tool_flow=transcript.tool_flow_before.view()[: base + 1],
    )


def _longer(column: GrowingColumn, base: int, more: list[int]) -> NDArray[np.int64]:
    """Places below ``base``, ascending, and more of them."""
    before = column.view()
    if len(before) and before[-1] >= base:
        before = before[: before.searchsorted(base)]
    return np.concatenate([before, np.array(more, dtype=np.int64)])


def _longer_sum(column: GrowingColumn, base: int, more: list[int]) -> NDArray[np.int64]:
    """A running sum up to ``base``, and what is added to it."""
    before = column.view()
    return np.concatenate([before[:base], list(accumulate(more, initial=int(before[base])))])


class PipelineMemory:
    """What is remembered between requests: facts by content, and the grown part of recent chats.

    It may be shared by any number of orchestrators, chats, users and threads: everything in it is a
    pure function of content, so it makes answers faster and never different.

    Args:
        max_bytes: bound on all of it, in bytes, estimated from the sizes of the texts; what the
            requests that run now take comes on top. A quarter each is for facts of contents (of all
            token counters together), for chats and for embeddings; an eighth for tokens of lines;
            an eighth for labels, summaries, names and stances. Nothing is taken before it is used.
        max_chats: recent chats whose grown part is kept.
    """

    def __init__(self, max_bytes: int = 256_000_000, max_chats: int = 64) -> None:
        part = max_bytes // 32
        self._content_bytes, self._line_bytes = 8 * part, 4 * part // _MOST_COUNTERS
        self._contents: dict[str, ContentMemory] = {}
        self._lock = threading.Lock()
        self.chats: ChatMemory[Transcript] = ChatMemory(8 * part, max_chats)
        self.vectors: OpinionMemory[NDArray[np.float32]] = OpinionMemory(8 * part)
        self.labels: OpinionMemory[float] = OpinionMemory(part)
        self.summaries: OpinionMemory[str] = OpinionMemory(part)
        self.names: OpinionMemory[tuple[str, ...]] = OpinionMemory(part)
        self.stances: OpinionMemory[Stance] = OpinionMemory(part)

    def contents(self, counted_by: str) -> ContentMemory:
        """The facts of contents as a counter counts them; others have facts of their own.

        Those of the counter that was asked for least recently give way where all take too much.
        """
        with self._lock:
            found = self._contents.pop(counted_by, None)
            if found is None:
                found = ContentMemory(self._content_bytes, self._line_bytes)
            self._contents[counted_by] = found
            while len(self._contents) > _MOST_COUNTERS or (
                len(self._contents) > 1 and self._content_size() > self._content_bytes
            ):
                del self._contents[next(iter(self._contents))]
            return found

    def _content_size(self) -> int:
        return sum([c.accounted_bytes for c in self._contents.values()])

    @property
    def accounted_bytes(self) -> int:
        """What is remembered of messages and chats, as it is estimated for the bound."""
        with self._lock:
            return self._content_size() + self.chats.accounted_bytes


_PROCESS_MEMORY = PipelineMemory()


def process_memory() -> PipelineMemory:
    """The memory that orchestrators of this process share unless they are given their own."""
    return _PROCESS_MEMORY
