"""Stored histories that are read through an optimizer and written whole."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import ParamSpec

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import BaseMessage

from eunoe_langchain.runnable import HistoryOptimizer

P = ParamSpec("P")


class OptimizedHistory(BaseChatMessageHistory):
    """A view of a stored history: reading gives the optimised list, writing goes to the store.

    The view is made once and stays until something is written through it, since
    ``RunnableWithMessageHistory`` reads twice in one call and relies on equal lengths.

    Attributes:
        store: the history that holds every message.
        optimizer: what makes the view.
    """

    def __init__(self, store: BaseChatMessageHistory, optimizer: HistoryOptimizer) -> None:
        self.store, self.optimizer = store, optimizer
        self._view: list[BaseMessage] | None = None

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override]  # a field in the base
        """The optimised messages, as a new list."""
        if self._view is None:
            self._view = self.optimizer.invoke(self.store.messages)
        return list(self._view)

    async def aget_messages(self) -> list[BaseMessage]:
        """The same without blocking the event loop."""
        if self._view is None:
            self._view = await self.optimizer.ainvoke(await self.store.aget_messages())
        return list(self._view)

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Write to the store."""
        self._view = None
        self.store.add_messages(messages)

    async def aadd_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Write to the store."""
        self._view = None
        await self.store.aadd_messages(messages)

    def clear(self) -> None:
        """Empty the store."""
        self._view = None
        self.store.clear()

    async def aclear(self) -> None:
        """Empty the store."""
        self._view = None
        await self.store.aclear()


def wrap_history_factory(
    factory: Callable[P, BaseChatMessageHistory], optimizer: HistoryOptimizer
) -> Callable[P, OptimizedHistory]:
    """A factory for ``RunnableWithMessageHistory`` whose histories are read through an optimizer.

    Args:
        factory: gives the stored history; its parameter names are kept, LangChain reads them.
        optimizer: what shortens it; leave room in ``reserve_tokens`` for prompt and question.

    Returns:
        A factory of the same signature. The stored history stays whole.
    """

    @functools.wraps(factory)
    def optimized(*args: P.args, **kwargs: P.kwargs) -> OptimizedHistory:
        return OptimizedHistory(factory(*args, **kwargs), optimizer)

    return optimized
