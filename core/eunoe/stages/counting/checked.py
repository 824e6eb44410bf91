"""A caller's token counter, held to what a counter promises: its faults are told from others."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from numbers import Real
from typing import Any

from eunoe.domain.errors import CounterFaultError
from eunoe.domain.message import Message
from eunoe.domain.ports import TokenCounter
from eunoe.stages.counting.tokenizer import EstimateTokenizer, SourceTokenizer

_MOST_TOKENS_OF_TEXT = 10**12
"""Of one text: far above any context window, and far below what sums and products overflow at."""


class CheckedCounter:
    """Counts as another counter does; a part of a token counts as a whole one.

    Args:
        counter: a caller's.

    Raises:
        CounterFaultError: from every method: the counter raised, or answered with what is no number
            of tokens.
    """

    def __init__(self, counter: TokenCounter) -> None:
        self._counter = counter
        name: object = _answer_of(lambda: counter.name)
        if not isinstance(name, str):
            raise CounterFaultError(f"its name is {type(name).__name__}, not text")
        self.name = name
        self.exact = _answer_of(lambda: bool(counter.exact))

    def count(self, text: str) -> int:
        """Tokens of a text."""
        return _whole_tokens(_answer_of(lambda: self._counter.count(text)))

    def count_batch(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text."""
        counts: list[Any] = _answer_of(lambda: list(self._counter.count_batch(texts)))
        if len(counts) != len(texts):
            raise CounterFaultError(f"it answered {len(counts)} counts for {len(texts)} texts")
        return [
            c if type(c) is int and 0 <= c <= _MOST_TOKENS_OF_TEXT else _whole_tokens(c)
            for c in counts
        ]


class CheckedMessageCounter(CheckedCounter):
    """The same for a counter that counts whole messages."""

    def count_message(self, message: Message) -> int:
        """Tokens of a message."""
        counter: Any = self._counter
        return _whole_tokens(_answer_of(lambda: counter.count_message(message)))


def checked_counter(counter: TokenCounter) -> TokenCounter:
    """The counter, checked unless it is one of ours.

    Raises:
        CounterFaultError: it does not say its name.
    """
    if isinstance(counter, (EstimateTokenizer, SourceTokenizer)):
        return counter
    if getattr(counter, "count_message", None) is not None:
        return CheckedMessageCounter(counter)
    return CheckedCounter(counter)


def _answer_of(ask: Callable[[], Any]) -> Any:
    try:
        return ask()
    except Exception as error:
        raise CounterFaultError(type(error).__name__) from error


def _whole_tokens(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise CounterFaultError(f"it answered {type(value).__name__}, no number")
    number: Any = value
    if not 0 <= number <= _MOST_TOKENS_OF_TEXT:
        raise CounterFaultError(f"it answered {str(number)[:24]} tokens")
    tokens: int = math.ceil(number)
    return tokens
