"""Measures message lists: tokens, rules broken, what is missing; each message of a chat once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from eunoe.domain.message import Message
from eunoe.domain.profile import profile_of
from eunoe.stages.counting.message_cost import (
    REPLY_PRIMING,
    count_message,
    count_messages_batch,
    count_tools,
)
from eunoe.stages.counting.tokenizer import family_of, find_tokenizer
from eunoe.stages.validity import check_messages
from eunoe.wire.openai import read_message

RawView = Sequence[Mapping[str, Any]]


class Ruler:
    """One measure for every policy of a chat, so that they are compared by the same numbers.

    Args:
        messages: the whole chat; its messages are read and counted once.
        model_id: chooses tokenizer and, without ``profile``, the provider's rules.
        profile: name of the rules.
        tools: schemas sent along with each request.

    Raises:
        SettingsError: there is no such profile.
    """

    def __init__(
        self,
        messages: RawView,
        *,
        model_id: str | None = None,
        profile: str | None = None,
        tools: Sequence[Mapping[str, Any]] | None = None,
    ) -> None:
        own = find_tokenizer(family_of(model_id))
        self._tokenizer = own if own.exact else find_tokenizer("o200k")
        self._profile = profile_of(model_id, profile)
        self._tools = count_tools(tools, self._tokenizer) if tools else 0
        read = [read_message(raw) for raw in messages]
        counts = count_messages_batch(read, self._tokenizer)
        self._messages = messages  # kept alive, so that their ids stay theirs
        self._known = {
            id(raw): (message, count)
            for raw, message, count in zip(messages, read, counts, strict=True)
        }

    @property
    def tokenizer(self) -> str:
        """Name of what counts."""
        return self._tokenizer.name

    @property
    def estimated(self) -> bool:
        """Whether the counts are an estimate."""
        return not self._tokenizer.exact

    @property
    def profile(self) -> str:
        """Name of the rules."""
        return self._profile.name

    def _measure(self, raw: Mapping[str, Any]) -> tuple[Message, int]:
        known = self._known.get(id(raw))
        if known is not None:
            return known
        message = read_message(raw)
        return message, count_message(message, self._tokenizer)

    def tokens_at_start(self, view: RawView, messages: int) -> int:
        """Tokens of the first so many messages, tools included."""
        return self._tools + sum(self._measure(raw)[1] for raw in view[:messages])

    def total(self, view: RawView) -> int:
        """Tokens of a request: messages, tools and framing."""
        return self.tokens_at_start(view, len(view)) + REPLY_PRIMING

    def is_refused(self, view: RawView) -> bool:
        """Whether the provider would answer with an error."""
        return not view or bool(check_messages([self._measure(r)[0] for r in view], self._profile))

    def is_incomplete(self, view: RawView, given: RawView) -> bool:
        """Whether every question is gone, or a system message of the chat."""
        sent = {self._measure(raw)[0].digest for raw in view}
        asked = any(self._measure(raw)[0].role == "user" for raw in view)
        read = [self._measure(raw)[0] for raw in given]
        return (not asked and any(m.role == "user" for m in read)) or any(
            m.is_system and m.digest not in sent for m in read
        )


def same_at_start(before: RawView, now: RawView) -> int:
    """How many messages, from the first on, are equal in both lists."""
    same = 0
    for old, new in zip(before, now, strict=False):
        if old is not new and old != new:
            break
        same += 1
    return same
