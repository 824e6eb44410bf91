"""What messages and tools take of a context window: text, framing, calls, media at flat prices.

Source: the chat format of OpenAI's models (a few tokens around each message, three before the
answer); image prices of a 1024 x 1024 picture at high and at low detail.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from eunoe.domain.message import MediaKind, Message
from eunoe.domain.nesting import json_text
from eunoe.domain.ports import TokenCounter

MESSAGE_FRAMING = 4
REPLY_PRIMING = 3
NAME_FRAMING = 1
CALL_FRAMING = 4
MEDIA_TOKENS: dict[MediaKind, int] = {
    "image": 765,
    "image_low": 85,
    "audio": 300,
    "video": 300,
    "file": 300,
}


def _texts_of(message: Message) -> list[str]:
    """Texts of a message that a model reads, each once."""
    texts = list(message.pieces) if message.parts else [message.text] if message.text else []
    for call in message.calls:
        texts += [text for text in (call.name, call.arguments) if text]
    return [*texts, message.reasoning] if message.reasoning else texts


def _fixed_cost(message: Message) -> int:
    cost = MESSAGE_FRAMING + CALL_FRAMING * len(message.calls)
    cost += sum(MEDIA_TOKENS[kind] for kind in message.media)
    return cost + (NAME_FRAMING if message.name else 0)


def count_messages_batch(messages: Sequence[Message], tokenizer: TokenCounter) -> list[int]:
    """Count many messages with one call of the tokenizer.

    Args:
        messages: n messages.
        tokenizer: the counter of texts. If it has a method ``count_message``, a counter of whole
            messages such as a caller's own, that one counts.

    Returns:
        n counts, at least ``MESSAGE_FRAMING`` each unless the tokenizer counts messages itself.
        ``REPLY_PRIMING`` comes once a list and is not in them.
    """
    count_whole = getattr(tokenizer, "count_message", None)
    if count_whole is not None:
        return [int(count_whole(message)) for message in messages]
    texts: list[str] = []
    ends = []
    for message in messages:
        texts += _texts_of(message)
        ends.append(len(texts))
    counts = tokenizer.count_batch(texts) if texts else []
    costs, start = [], 0
    for message, end in zip(messages, ends, strict=True):
        costs.append(_fixed_cost(message) + sum(counts[start:end]))
        start = end
    return costs


def count_message(message: Message, tokenizer: TokenCounter) -> int:
    """Count one message with its framing, calls, reasoning and media; base64 is never text.

    Args:
        message: the message.
        tokenizer: the counter of texts.

    Returns:
        Tokens, at least ``MESSAGE_FRAMING``.
    """
    return count_messages_batch((message,), tokenizer)[0]


def count_tools(tools: Iterable[Mapping[str, Any]] | None, tokenizer: TokenCounter) -> int:
    """Count the schemas of the tools, as compact JSON.

    Args:
        tools: tool definitions as they are sent; None or empty for none.
        tokenizer: the counter of texts.

    Returns:
        Tokens; 0 without tools.
    """
    texts = [json_text(tool, ensure_ascii=False, separators=(",", ":")) for tool in tools or ()]
    return sum(tokenizer.count_batch(texts)) if texts else 0
