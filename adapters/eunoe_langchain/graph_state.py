"""The state of a LangGraph graph: the messages in it, and the update that a hook returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import BaseMessage, RemoveMessage
from langchain_core.runnables import Runnable


@dataclass(frozen=True, slots=True)
class PreModelHook:
    """What a graph calls before its model; it can be pickled if the optimizer can.

    Attributes:
        optimizer: makes the view of the messages.
        rewrite: put the view in place of the state's messages, for good.
    """

    optimizer: Runnable[LanguageModelInput, list[BaseMessage]]
    rewrite: bool

    def update(self, state: Any) -> dict[str, Any]:
        """The update for a state."""
        return hook_update(self.optimizer.invoke(messages_of_state(state)), rewrite=self.rewrite)

    async def aupdate(self, state: Any) -> dict[str, Any]:
        """The same, off the event loop."""
        view = await self.optimizer.ainvoke(messages_of_state(state))
        return hook_update(view, rewrite=self.rewrite)


def messages_of_state(state: Any) -> list[BaseMessage]:
    """The messages of a graph's state, be it a mapping, a model or the list itself."""
    if isinstance(state, list):
        return state
    found = state["messages"] if isinstance(state, Mapping) else state.messages
    return list(found)


def hook_update(view: list[BaseMessage], *, rewrite: bool) -> dict[str, Any]:
    """The view for this call alone; or in place of the state's messages, which needs langgraph."""
    if not rewrite:
        return {"llm_input_messages": view}
    from langgraph.graph.message import REMOVE_ALL_MESSAGES

    return {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), *view]}
