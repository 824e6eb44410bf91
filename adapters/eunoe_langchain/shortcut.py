"""``optimize_messages``: one call in place of a runnable."""

from __future__ import annotations

from typing import Any, overload

from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import BaseMessage

from eunoe_langchain.runnable import HistoryOptimizer


@overload
def optimize_messages(messages: None = None, **options: Any) -> HistoryOptimizer: ...


@overload
def optimize_messages(messages: LanguageModelInput, **options: Any) -> list[BaseMessage]: ...


def optimize_messages(
    messages: LanguageModelInput | None = None, **options: Any
) -> list[BaseMessage] | HistoryOptimizer:
    """``trim_messages`` by another rule: a list gives a list, nothing gives a runnable.

    Args:
        messages: what a chat model takes, or None.
        **options: fields of ``HistoryOptimizer``, at least ``max_tokens``.

    Raises:
        BudgetError: what may not be cut exceeds the budget.
        TypeError: ``messages`` is no list of messages.
    """
    optimizer = HistoryOptimizer(**options)
    return optimizer if messages is None else optimizer.invoke(messages)
