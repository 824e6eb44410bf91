"""Tokens by length, as LangChain's users know them, without a tokenizer.

Source: langchain_core.messages.utils.count_tokens_approximately; the defects reported against it
(base64 counted as text, tool arguments free of charge) are not repeated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from langchain_core.messages import BaseMessage

from eunoe.domain.message import Message
from eunoe.stages.counting.message_cost import MEDIA_TOKENS
from eunoe.wire.openai import read_message
from eunoe_langchain.reading import plan_dict

MESSAGE_TOKENS = 3
CALL_TOKENS = 4
_TWELFTHS = 12  # weights are in twelfths of a token: four characters of three each


@dataclass(frozen=True)
class ApproximateCounter:
    """Four characters of ASCII a token and three tokens a message, rounded up.

    Other scripts weigh by their UTF-8 bytes (a Chinese character 0.9 tokens, a Cyrillic letter
    0.6); images and other media have a flat price; a call costs its name, its arguments and four.
    """

    name: str = "approximate"
    exact: bool = False

    def count(self, text: str) -> int:
        """Tokens of one text."""
        return -(-weight_of(text) // _TWELFTHS)

    def count_batch(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text."""
        return [self.count(text) for text in texts]

    def count_message(self, message: Message) -> int:
        """Tokens of one message with its framing; characters are summed before rounding."""
        twelfths = weight_of(message.role)
        texts = message.pieces if message.parts else (message.text,)
        for text in (*texts, message.name, *message.answered, message.reasoning):
            if text:
                twelfths += weight_of(text)
        tokens = MESSAGE_TOKENS + sum(MEDIA_TOKENS[kind] for kind in message.media)
        for call in message.calls:
            twelfths += weight_of(call.name) + weight_of(call.arguments)
            tokens += CALL_TOKENS
        return tokens - (-twelfths // _TWELFTHS)


def approximate_tokens(messages: Sequence[BaseMessage]) -> int:
    """Tokens of a list by length; 0 for no messages.

    Agrees with ``count_tokens_approximately`` on plain ASCII text.
    """
    counter = ApproximateCounter()
    return sum(counter.count_message(read_message(plan_dict(message))) for message in messages)


def weight_of(text: str) -> int:
    """Twelfths of a token: 3 a character, and 4 for each byte that UTF-8 needs beyond the first."""
    if text.isascii():
        return 3 * len(text)
    beyond = len(text.encode("utf-8", "surrogatepass")) - len(text)
    return 3 * len(text) + 4 * beyond
