"""What a chat model takes, as a list of messages; what it would misread is refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import BaseMessage, convert_to_messages
from langchain_core.prompt_values import PromptValue


def to_messages(value: Any) -> list[BaseMessage]:
    """The messages in a chat model's input.

    Args:
        value: a string (one user message), a prompt value, or a sequence of whatever LangChain
            takes for a message: messages, ``(role, text)`` pairs, dicts with role and content,
            strings.

    Returns:
        A new list; messages in it are the caller's own objects.

    Raises:
        TypeError: the value is a mapping (a chain's state), one message, or no messages at all.
        ValueError: an element of the sequence cannot be read as a message.
    """
    if isinstance(value, PromptValue):
        return list(value.to_messages())
    if isinstance(value, str):
        return list(convert_to_messages([("human", value)]))
    if isinstance(value, Mapping):
        keys = ", ".join(repr(str(key)) for key in value)
        raise TypeError(
            f"expected messages, got a mapping with the keys {keys or '(none)'}; "
            "use .on_key('messages') to optimise one key of a mapping"
        )
    if isinstance(value, BaseMessage):
        raise TypeError(
            f"expected a list of messages, got one {type(value).__name__}; put it in a list"
        )
    if not isinstance(value, Sequence) or isinstance(value, (bytes, bytearray)):
        raise TypeError(
            f"expected messages, a prompt value or a string, got {type(value).__name__}"
        )
    if _is_pair(value):
        raise TypeError(f"expected a list of messages, got one pair {value!r}; put it in a list")
    out: list[BaseMessage] = []
    for element in value:
        out.extend(
            [element] if isinstance(element, BaseMessage) else convert_to_messages([element])
        )
    return out


def _is_pair(value: Sequence[Any]) -> bool:
    roles = ("human", "user", "ai", "assistant", "system")
    is_tuple = isinstance(value, tuple) and len(value) == 2
    return is_tuple and all(isinstance(x, str) for x in value) and value[0] in roles


CALL_KEYWORDS = ("max_tokens", "reserve_tokens", "max_cost_usd")


def check_keywords(name: str, kwargs: Mapping[str, Any]) -> None:
    """Refuse keywords of a call that are not of the optimizer ``name``.

    Raises:
        TypeError: one is unknown.
    """
    for keyword in kwargs:
        if keyword not in CALL_KEYWORDS:
            raise TypeError(
                f"{name} got an unexpected argument {keyword!r}; arguments of a chain's .bind() "
                "and .invoke() go to its first step, so bind those of the model to the model: "
                f"optimizer | model.bind({keyword}=...)"
            )
