"""From a plan back to messages: the caller's own objects by index, copies where text changed."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from eunoe import Placement
from eunoe.domain.nesting import json_text
from eunoe.wire.rewriting import without_half_characters
from eunoe_langchain.reading import SOURCE_MARK, PlanDict

MARK = "eunoe"
_SUMMARY_FATES = ("gist", "summarised")


def write_back(
    messages: Sequence[BaseMessage],
    planned: Sequence[PlanDict],
    placements: Sequence[Placement],
) -> list[BaseMessage]:
    """The messages to send.

    Args:
        messages: the caller's n messages.
        planned: the n dicts that planning saw, in the same order.
        placements: one for each message to send, as planning returned them.

    Returns:
        A new list. A message whose content stayed is the caller's object itself; one whose text
        changed is a marked copy with the same id, name, call id and status; new text is a user
        message that says in ``additional_kwargs`` that no person typed it.
    """
    out: list[BaseMessage] = []
    for placement in placements:
        if placement.index is None:
            out.append(_new_message(placement))
        else:
            i = placement.index
            out.append(_placed(messages[i], planned[i], placement))
    return out


def _placed(message: BaseMessage, before: PlanDict, placement: Placement) -> BaseMessage:
    if not placement.changed:
        return message
    after = placement.message.get("content")
    if isinstance(message, AIMessage) or after is before["content"] or after == before["content"]:
        changes = _without_halves(message)  # ids in another form are the integration's business
    else:
        changes = {"content": _content_back(message, before["content"], after)}
    if not changes:
        return message
    mark = {MARK: {"fate": placement.fate.value}}
    own = {
        "additional_kwargs": dict(message.additional_kwargs),
        "response_metadata": {**message.response_metadata, **mark},
    }
    return message.model_copy(update={**own, **changes})


def _without_halves(message: BaseMessage) -> dict[str, Any]:
    """The fields in which half a surrogate pair stood, mended; all that an answer may need."""
    fields = ("content", "tool_calls", "invalid_tool_calls", "additional_kwargs", "name")
    mended = {name: without_half_characters(getattr(message, name, None)) for name in fields}
    return {name: value for name, value in mended.items() if value != getattr(message, name, None)}


def _content_back(message: BaseMessage, before: Any, after: Any) -> Any:
    """Content in the message's own form; parts that planning left alone are the caller's."""
    if not isinstance(after, list) or not isinstance(message.content, list):
        return after if isinstance(after, (str, list)) else ""
    own = {id(part): block for part, block in zip(before, message.content, strict=False)}
    return [own.get(id(part), part) for part in after]


def _new_message(placement: Placement) -> BaseMessage:
    """New text, never a system message, never a class of our own; its id follows from its text.

    A stub for a result that never came is a tool message with the status ``error``; all other text
    is a user message that says that no person typed it.
    """
    content, call_id = placement.message["content"], placement.message.get("tool_call_id")
    canonical = json_text([content, call_id], ensure_ascii=False, sort_keys=True)
    message_id = "eunoe-" + hashlib.sha256(canonical.encode("utf-8", "replace")).hexdigest()[:24]
    fate = placement.fate.value
    if placement.message.get("role") == "tool":
        return ToolMessage(
            content=content,
            tool_call_id=str(call_id or ""),
            status="error",
            id=message_id,
            response_metadata={MARK: {"fate": fate}},
        )
    source = "summarization" if fate in _SUMMARY_FATES else MARK
    return HumanMessage(content=content, id=message_id, additional_kwargs={SOURCE_MARK: source})
