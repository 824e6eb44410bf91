"""Take the reasoning of finished turns out, where a cut has changed what stood before it.

A provider may tie reasoning to the messages before it (Anthropic's signed thinking blocks); once
those are cut, it can refuse the block. Source: deepagents, pull request 6300; openai-agents-python,
issue 2727 (ids of items that refer to a dropped reasoning item must go with it).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage

from eunoe_langchain.reading import is_typed_by_a_person

_REASONING_BLOCKS = ("thinking", "redacted_thinking", "reasoning")
_TIED_IDS = ("msg_", "fc_", "ctc_")


def without_old_reasoning(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """The messages with reasoning left only in the running turn.

    Args:
        messages: a view; its last message that a person typed opens the running turn.

    Returns:
        A new list; answers that held reasoning are copies without it, marked in
        ``response_metadata``; one that held nothing else stays as it is.
    """
    typed = [i for i, message in enumerate(messages) if is_typed_by_a_person(message)]
    start = typed[-1] if typed else 0
    return [_stripped(m) if i < start else m for i, m in enumerate(messages)]


def _stripped(message: BaseMessage) -> BaseMessage:
    if not isinstance(message, AIMessage) or not isinstance(message.content, list):
        return message
    rest = [block for block in message.content if not _is_reasoning(block)]
    if len(rest) == len(message.content) or not (rest or message.tool_calls):
        return message
    mark = {**message.response_metadata.get("eunoe", {}), "reasoning": "stripped"}
    return message.model_copy(
        update={
            "content": [_untied(block) for block in rest],
            "additional_kwargs": dict(message.additional_kwargs),
            "response_metadata": {**message.response_metadata, "eunoe": mark},
        }
    )


def _is_reasoning(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") in _REASONING_BLOCKS


def _untied(block: Any) -> Any:
    """The block without an id that refers to the reasoning before it."""
    if isinstance(block, dict) and str(block.get("id") or "").startswith(_TIED_IDS):
        return {key: value for key, value in block.items() if key != "id"}
    return block
