"""What is remembered between requests: facts by content, and what tells whether a chat is known.

Nothing here can change an answer: every fact is a pure function of content, so a cold start gives
the same bytes. All of it is bounded in size.
"""

from __future__ import annotations

import marshal
import re
import threading
from collections.abc import Mapping, Sequence
from itertools import chain, compress, repeat
from sys import getsizeof
from typing import Any

from eunoe.domain.flag import FlagReading
from eunoe.domain.message import Message
from eunoe.domain.nesting import json_text, written_text
from eunoe.domain.ports import TokenCounter
from eunoe.domain.scripts import ABUGIDA_LETTERS, HAN_KANA_LETTERS
from eunoe.pipeline.chat.opinion_memory import OpinionMemory
from eunoe.stages.counting.message_cost import count_messages_batch
from eunoe.stages.flags import read_flags
from eunoe.stages.scoring.analysis import TextAnalysis, analyse_text, split_stamp
from eunoe.wire.openai import read_message

_ENTRY_OVERHEAD_BYTES = 900
_ENTRY_TERM_BYTES = 5
_ENTRY_PAIR_BYTES = 60
_ENTRY_PAIRED = re.compile(f"[{ABUGIDA_LETTERS}{HAN_KANA_LETTERS}]+")
"""Letters of which nearly each begins a term of its own."""

_KEY_VERSION = 2
_MEANING_HEAD = 6_000
_MEANING_TAIL = 2_000


ContentKey = tuple[str, str] | tuple[tuple[str, str], ...] | bytes
"""What tells contents apart: role and text of a plain message; the items of one that holds nothing
but texts, such as the result of a call; all of any other."""


class ContentEntry:
    """The facts of one content: the message, its tokens, its flags, its terms."""

    __slots__ = (
        "analysis", "bytes", "counted_by", "key", "meaning", "message", "reading", "tokens",
    )  # fmt: skip

    def __init__(self, message: Message, key: ContentKey) -> None:
        self.message = message
        self.key = key
        self.bytes = entry_bytes(message, key)
        self.tokens = -1
        self.counted_by = ""
        self.analysis: TextAnalysis | None = None
        self.meaning: str | None = None
        self.reading: FlagReading | None = (
            read_flags(message.text) if message.role == "user" and message.text[:1] == "!" else None
        )

    def analysed(self) -> TextAnalysis:
        """The terms and entities of the text; found at first use."""
        if self.analysis is None:
            message = self.message
            text = message.text
            if message.calls:
                calls = " ".join(f"{c.name} {c.arguments}" for c in message.calls)
                text = f"{text}\n{calls}" if text else calls
            self.analysis = analyse_text(text, role=message.role, name=message.name)
        return self.analysis

    def meant(self) -> str:
        """What a model is shown of the message; found at first use."""
        if self.meaning is None:
            self.meaning = meaning_text(self.message)
        return self.meaning


def entry_bytes(message: Message, key: ContentKey) -> int:
    """What a content takes in memory once all its facts are known; estimated.

    Every text that is kept counts, read or not: the reasoning beside an answer too.

    Source: measured with tracemalloc, 20 to 20,000 characters of English, Chinese, Thai, Korean,
    Russian and Arabic, of calls, parts and reasoning: within a factor of 2, seldom too low.
    """
    text = message.text
    terms = len(text) * _ENTRY_TERM_BYTES + _ENTRY_OVERHEAD_BYTES
    if not text.isascii():
        terms += sum(map(len, _ENTRY_PAIRED.findall(text))) * _ENTRY_PAIR_BYTES
    if isinstance(key, bytes):
        called = [c.arguments for c in message.calls]
        kept = (key, *message.pieces, message.reasoning, *called)
        return sum(map(getsizeof, kept)) + sum(map(len, called)) * _ENTRY_TERM_BYTES + terms
    if isinstance(key[0], str):  # as most are: plain talk
        return getsizeof(text) + terms
    return sum(map(getsizeof, chain.from_iterable(key))) + terms


def meaning_text(message: Message, head: int = _MEANING_HEAD, tail: int = _MEANING_TAIL) -> str:
    """What a model is shown of a message: its text, else its calls; empty for system messages.

    A time at its head is left out, the middle of a long text is cut.

    Args:
        head: characters that a long text keeps of its beginning; at least 1.
        tail: and of its end; at least 1.
    """
    if message.is_system:
        return ""
    text = message.text.strip()
    if not text and message.calls:
        text = " ".join(f"{c.name} {c.arguments}" for c in message.calls)
    text = split_stamp(text)[0]
    return text if len(text) <= head + tail else f"{text[:head]}\n…\n{text[-tail:]}"


class ContentMemory:
    """Entries by content, bounded by bytes: two generations, the older one is dropped when full.

    Safe across threads. A message is read under the lock, once.

    Args:
        max_bytes: bound on the entries, as estimated by ``entry_bytes``.
        line_bytes: bound on ``lines``.

    Attributes:
        lines: tokens of lines of what was written anew.
    """

    def __init__(self, max_bytes: int, line_bytes: int = 1_000_000) -> None:
        self.lines: OpinionMemory[int] = OpinionMemory(line_bytes)
        self._half = max(1, max_bytes // 2)
        self._young: dict[ContentKey, ContentEntry] = {}
        self._old: dict[ContentKey, ContentEntry] = {}
        self._bytes = self._old_bytes = 0
        self._lock = threading.Lock()

    @property
    def accounted_bytes(self) -> int:
        """Bytes of the entries, as estimated from their texts."""
        return self._bytes + self._old_bytes

    def read_all(self, raws: Sequence[Mapping[str, Any]]) -> list[ContentEntry]:
        """The entry of each message; O(1) for a content met before."""
        young = self._young
        found: list[ContentEntry] = []
        for raw in raws:
            key = content_key(raw)
            entry = young.get(key)
            if entry is None:
                entry = self._meet(key, raw)
                young = self._young
            found.append(entry)
        return found

    def _meet(self, key: ContentKey, raw: Mapping[str, Any]) -> ContentEntry:
        with self._lock:
            entry = self._young.get(key)
            if entry is not None:
                return entry
            entry = self._old.pop(key, None)
            if entry is not None:
                self._old_bytes -= entry.bytes
            else:
                entry = ContentEntry(read_message(raw), key)
            self._young[key] = entry
            self._bytes += entry.bytes
            if self._bytes > self._half:
                self._old, self._old_bytes = self._young, self._bytes
                self._young, self._bytes = {}, 0
            return entry


def content_key(raw: Mapping[str, Any]) -> ContentKey:
    """The key of a message; equal for equal contents only."""
    role, content = raw.get("role"), raw.get("content")
    if type(content) is str and type(role) is str and len(raw) == 2:
        return role, content
    if {*map(type, raw), *map(type, raw.values())} == {str}:
        return tuple(raw.items())
    try:
        return marshal.dumps(dict(raw), _KEY_VERSION)
    except (ValueError, TypeError):
        # Python's form tells types apart, JSON what is in a mapping that writes its address alone
        both = f"{written_text(raw, repr)}\0{json_text(raw)}"
        return both.encode("utf-8", "surrogatepass")


def key_bytes(key: ContentKey) -> bytes:
    """A key as bytes, the same in every process."""
    match key:
        case bytes():
            return key
        case (str(role), str(content)):
            return f"{len(role)} {role}{content}".encode("utf-8", "surrogatepass")
    return marshal.dumps(_given_as(key), _KEY_VERSION)


def _given_as(key: tuple[str, str] | tuple[tuple[str, str], ...]) -> dict[str, str]:
    """A message that holds nothing but texts, from its key."""
    match key:
        case (str(role), str(content)):
            return {"role": role, "content": content}
    return dict(key)


def count_entries(entries: Sequence[ContentEntry], counter: TokenCounter) -> None:
    """Give every entry its tokens; only those not counted by this counter are counted."""
    name = counter.name
    missing = list({id(e): e for e in entries if e.counted_by != name}.values())
    if missing:
        counts = count_messages_batch([e.message for e in missing], counter)
        for entry, tokens in zip(missing, counts, strict=True):
            entry.tokens, entry.counted_by = tokens, name


class Grown:
    """The part of a chat that no longer changes, for ``ChatMemory``: a pure function of it."""

    def __init__(self, counted_by: str) -> None:
        self.entries: list[ContentEntry] = []
        self.messages: list[Message] = []
        self.flagged = False
        self.bytes = 0
        self.counted_by = counted_by
        self.busy = False
        self.whole = True
        self._flat = bytearray()
        self._flat_given: list[dict[str, str]] = []
        self._rich = bytearray()
        self._rich_given: list[bytes] = []

    def note_entries(self, entries: Sequence[ContentEntry]) -> None:
        """Append messages, and what tells whether they are given again."""
        self.entries.extend(entries)
        self.messages.extend([e.message for e in entries])
        self.flagged = self.flagged or any(e.reading is not None for e in entries)
        self.bytes += sum([e.bytes for e in entries])
        for entry in entries:
            key = entry.key
            rich = isinstance(key, bytes)
            self._flat.append(not rich)
            self._rich.append(rich)
            if isinstance(key, bytes):
                self._rich_given.append(key)
            elif isinstance(key[0], str):  # as most are: plain talk
                self._flat_given.append({"role": entry.message.role, "content": entry.message.text})
            else:
                self._flat_given.append(_given_as(key))

    def was_given(self, raws: Sequence[Mapping[str, Any]]) -> bool:
        """Whether these are all its messages: by content, since callers may change theirs.

        Note:
            Messages that hold nothing but texts are compared with copies in one go, about 100 ns
            each; others as bytes, since to Python True equals 1.
        """
        if list(compress(raws, self._flat)) != self._flat_given:
            return False
        rich: list[Any] = list(compress(raws, self._rich))
        try:
            return list(map(marshal.dumps, rich, repeat(_KEY_VERSION))) == self._rich_given
        except ValueError:
            return [content_key(raw) for raw in rich] == self._rich_given

    def opens(self, entries: Sequence[ContentEntry]) -> bool:
        """Whether all its messages open the given list."""
        size = len(self.entries)
        if size and self.entries[-1] is not entries[size - 1]:
            return False
        return list(entries[:size]) == self.entries
