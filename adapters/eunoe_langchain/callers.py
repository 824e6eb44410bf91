"""A caller's own counter, in the form that planning asks for, with what it said remembered.

Planning keeps the tokens of each content under the counter's name. So each counter object gets a
name of its own, and one shared orchestrator finds the counter of the running call in a context
variable.
"""

from __future__ import annotations

import itertools
import threading
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from eunoe.domain.message import Message
from eunoe.stages.counting.message_cost import REPLY_PRIMING
from eunoe.wire.openai import read_message
from eunoe_langchain.counters import as_list_counter
from eunoe_langchain.reading import PlanDict

_running: ContextVar[CallersCounter] = ContextVar("running counter")
_numbers: dict[int, tuple[weakref.ref[Any], int]] = {}
_next_number = itertools.count(1)
_lock = threading.Lock()


class CallersCounter:
    """A caller's counter for one call.

    Attributes:
        name: for the report; the same for the same counter object.
        count_list: the counter itself.
        framing_difference: what the core adds to a list above what the caller's counter adds.
        fault: what the counter raised, if it did.
    """

    def __init__(
        self, counter: Any, messages: Sequence[BaseMessage], planned: Sequence[PlanDict]
    ) -> None:
        self.name = f"the caller's counter {_number_of(counter)}"
        self.count_list = as_list_counter(counter)
        self.fault: Exception | None = None
        self._messages, self._planned = messages, planned
        self._base = self._base_of_a_list()
        self.framing_difference = REPLY_PRIMING - self._base

    def count_text(self, text: str) -> int:
        """Tokens of a text, as far as a counter of messages can tell."""
        return max(0, self.total([HumanMessage(text)]) - self._blank) if text else 0

    def count_message(self, message: Message) -> int:
        """Tokens that one message adds to a list, at least 1."""
        source = self._sources.get(message.digest) or _stand_in(message)
        return max(1, self.total([source]) - self._base)

    def total(self, messages: Sequence[BaseMessage]) -> int:
        """Tokens of a list; a fault of the counter is remembered, so that it reaches the caller."""
        try:
            return self.count_list(messages)
        except Exception as error:
            self.fault = error
            raise

    @cached_property
    def _sources(self) -> dict[str, BaseMessage]:
        pairs = zip(self._planned, self._messages, strict=True)
        return {read_message(raw).digest: message for raw, message in pairs}

    @cached_property
    def _blank(self) -> int:
        return self.total([HumanMessage("")])

    def _base_of_a_list(self) -> int:
        """What the counter adds to every list; 0 if it does not take an empty one."""
        try:
            return self.count_list([])
        except Exception:  # another's code, asked an odd question
            return 0


class RunningCounter:
    """The counter of the call that runs, for an orchestrator that serves them all."""

    exact = False

    @property
    def name(self) -> str:
        """The running counter's name."""
        return _running.get().name

    def count(self, text: str) -> int:
        """Tokens of a text."""
        return _running.get().count_text(text)

    def count_batch(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text."""
        return [self.count(text) for text in texts]

    def count_message(self, message: Message) -> int:
        """Tokens of a whole message."""
        return _running.get().count_message(message)


@contextmanager
def running(counter: CallersCounter) -> Iterator[None]:
    """Let this counter count inside the block, in this thread or task alone."""
    token = _running.set(counter)
    try:
        yield
    finally:
        _running.reset(token)


def _number_of(counter: Any) -> int:
    """A number for a counter object, the same as long as it lives; counters may be unhashable."""
    with _lock:
        known = _numbers.get(id(counter))
        if known is not None and known[0]() is counter:
            return known[1]
        number = next(_next_number)
        try:
            _numbers[id(counter)] = (weakref.ref(counter), number)
        except TypeError:  # an object that cannot be watched is counted anew at each call
            return number
        for key in [k for k, (reference, _) in _numbers.items() if reference() is None]:
            del _numbers[key]
        return number


def _stand_in(message: Message) -> BaseMessage:
    """A LangChain message of the same role and text, for text that planning wrote."""
    if message.is_result:
        return ToolMessage(message.text, tool_call_id=message.answers or "")
    return AIMessage(message.text) if message.role == "assistant" else HumanMessage(message.text)
