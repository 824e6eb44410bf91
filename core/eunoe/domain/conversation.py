"""A chat as it was given: the caller's own message objects, oldest first."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from eunoe.domain.errors import ConversationError

RawMessage = Mapping[str, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Conversation:
    """An immutable list of chat messages in OpenAI form.

    Attributes:
        raw: the caller's own objects, never copied and never changed.
        session_id: whose chat it is, if the caller says; plays no part in what is chosen.
    """

    raw: tuple[RawMessage, ...] = ()
    session_id: str | None = None

    @classmethod
    def from_openai_messages(
        cls, messages: Sequence[RawMessage] | None, session_id: str | None = None
    ) -> Conversation:
        """Take a list as it is; unknown keys, roles and parts stay.

        Raises:
            ConversationError: it is no list, or something in it is no mapping, or an item of the
                Responses API that is no message: a call, a result or reasoning without a role.
        """
        if messages is None:
            return cls((), session_id)
        if isinstance(messages, (str, bytes, Mapping)) or not isinstance(messages, Sequence):
            raise ConversationError(
                f"messages is {type(messages).__name__}; allowed: a list of message dicts"
            )
        plain = set(map(type, messages)) <= {dict}
        for i, message in enumerate([] if plain else messages):
            if not isinstance(message, Mapping):
                such = ", such as its model_dump(exclude_none=True)"
                raise ConversationError(
                    f"messages[{i}] is {type(message).__name__}; allowed: a message dict"
                    + (such if hasattr(message, "model_dump") else "")
                )
        if not plain or not _have_roles(messages):
            _refuse_items(messages)
        return cls(tuple(messages), session_id)

    def to_openai_messages(self) -> list[Any]:
        """The same objects, as a new list."""
        return list(self.raw)

    def __len__(self) -> int:
        return len(self.raw)

    def __iter__(self) -> Iterator[RawMessage]:
        return iter(self.raw)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Conversation) and list(self.raw) == list(other.raw)

    def __hash__(self) -> int:
        return hash(len(self.raw))


def _have_roles(messages: Sequence[RawMessage]) -> bool:
    """Whether each of these dicts has a role; as fast as can be, since chats are long."""
    try:
        deque(map(itemgetter("role"), messages), maxlen=0)
    except KeyError:
        return False
    return True


def _refuse_items(messages: Sequence[RawMessage]) -> None:
    """Refuse items of the Responses API that are no messages: leaving them out would lose calls.

    Raises:
        ConversationError: there is one.
    """
    for i, message in enumerate(messages):
        if "role" not in message and isinstance(message.get("type"), str):
            raise ConversationError(
                f"messages[{i}] is an item of type {message['type']!r} without a role; allowed: "
                "messages, with calls and reasoning as parts of an assistant's content, and "
                "results as parts of a user's content"
            )
