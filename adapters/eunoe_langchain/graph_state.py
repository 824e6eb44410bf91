"""The state of a LangGraph graph: the messages in it, and the update that a hook returns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.messages import BaseMessage, RemoveMessage


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
