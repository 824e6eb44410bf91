"""Take a request in: what is remembered of the chat is compared, only what is new is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eunoe.domain.ports import TokenCounter
from eunoe.domain.settings import Settings
from eunoe.pipeline.chat.flag_reading import ReadFlags, strip_flags
from eunoe.pipeline.chat.memory import ContentEntry, ContentMemory, count_entries
from eunoe.pipeline.chat.transcript import PipelineMemory, Transcript, last_turn_start
from eunoe.stages.atoms import opens_turn


def take_in(
    raws: tuple[Mapping[str, Any], ...],
    memory: PipelineMemory,
    counter: TokenCounter,
    settings: Settings,
) -> tuple[ReadFlags, Transcript]:
    """The messages read and counted, flags stripped, and the chat as it is remembered.

    Returns:
        The transcript holds the finished turns that are known, at most all of them. It is locked
        for the caller, who gives it back by ``memory.chats.release``.
    """
    contents = memory.contents(counter.name)
    known = memory.chats.find_given(raws, counter.name)
    if known is not None:
        try:
            flags = _go_on(raws, known, contents, settings)
            count_entries(flags.entries[len(known.entries) :], counter)
        except BaseException:
            memory.chats.release(known)
            raise
        if opens_turn(flags.entries[len(known.entries)].message, known.messages[-1]):
            return flags, known
        memory.chats.release(known)  # this chat goes on inside a turn
    flags = strip_flags(raws, contents.read_all(raws), contents, settings)
    count_entries(flags.entries, counter)
    finished = flags.entries[: last_turn_start(flags.entries)]
    return flags, memory.chats.find(finished, counter.name, lambda: Transcript(counter.name))


def _go_on(
    raws: tuple[Mapping[str, Any], ...],
    known: Transcript,
    contents: ContentMemory,
    settings: Settings,
) -> ReadFlags:
    """A chat whose first messages are known."""
    start = len(known.entries)
    entries: list[ContentEntry] = known.entries + contents.read_all(raws[start:])
    return strip_flags(raws, entries, contents, settings, start=start)
