"""LangChain messages as the dicts that planning reads; the messages themselves are never rebuilt.

Source: langchain_core.messages (content blocks, the places of a tool call), OpenAI API reference.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)

from eunoe.domain.nesting import json_text
from eunoe.domain.profile import PROFILES

PlanDict = dict[str, Any]

DEVELOPER_MARK = "__openai_role__"
SOURCE_MARK = "lc_source"
_CHAT_ROLES = {
    "human": "user",
    "ai": "assistant",
    "model": "assistant",
    "user": "user",
    "assistant": "assistant",
    "system": "system",
    "developer": "developer",
}
_ALTERNATING = frozenset(name for name, profile in PROFILES.items() if profile.alternate)
_CALL_BLOCKS = ("tool_use", "tool_call", "invalid_tool_call", "function_call", "custom_tool_call")


def plan_dicts(messages: Sequence[BaseMessage]) -> list[PlanDict]:
    """One dict a message, in order; for planning only, never sent.

    Args:
        messages: n messages of any class.

    Returns:
        n dicts in the form of OpenAI's chat messages. Content parts are the caller's own objects
        wherever they are dicts, so that nothing large is copied.
    """
    return [plan_dict(message) for message in messages]


def plan_dict(message: BaseMessage) -> PlanDict:
    """One message as a dict for planning; an unknown class is opaque and keeps its own role."""
    planned: PlanDict = {"role": role_of(message), "content": _content_of(message)}
    if message.name:
        planned["name"] = message.name
    if isinstance(message, ToolMessage):
        planned["tool_call_id"] = message.tool_call_id
    elif planned["role"] == "assistant":
        _add_calls(planned, message)
        _add_extras(planned, message)
    return planned


def role_of(message: BaseMessage) -> str:
    """The role that a provider sees: subclasses and chunks as their base, others as they say."""
    if isinstance(message, SystemMessage):
        developer = message.additional_kwargs.get(DEVELOPER_MARK) == "developer"
        return "developer" if developer else "system"
    if isinstance(message, HumanMessage):
        return "user"
    if isinstance(message, AIMessage):
        return "assistant"
    if isinstance(message, ToolMessage):
        return "tool"
    if isinstance(message, FunctionMessage):
        return "function"
    if isinstance(message, ChatMessage):
        return _CHAT_ROLES.get(message.role.lower(), message.role)
    return message.type


def is_typed_by_a_person(message: BaseMessage) -> bool:
    """Whether a message opens a turn: from the user, and not marked as made by a program."""
    return role_of(message) == "user" and not is_generated(message)


def is_generated(message: BaseMessage) -> bool:
    """Whether a program wrote this message in the user's role (a summary, a notification)."""
    return isinstance(message.additional_kwargs.get(SOURCE_MARK), str)


def is_instruction_to_the_store(message: BaseMessage) -> bool:
    """Whether a message is no message at all but an order to a message store."""
    return isinstance(message, RemoveMessage)


def call_of_block(block: PlanDict) -> str | None:
    """The id under which a tool message answers a content block, or None if it is no call."""
    kind = block.get("type")
    if kind in ("tool_use", "tool_call", "invalid_tool_call"):
        found = block.get("id")
    elif isinstance(kind, str) and kind.endswith("_call"):
        found = block.get("call_id")
    else:
        found = None
    return found if isinstance(found, str) and found else None


def _blocks(message: BaseMessage) -> Iterator[PlanDict]:
    if isinstance(message.content, list):
        yield from (block for block in message.content if isinstance(block, dict))


def _content_of(message: BaseMessage) -> Any:
    content = message.content
    if not isinstance(content, list):
        return content
    return [_part_of(block) for block in content]


def _part_of(block: Any) -> PlanDict:
    """A part for planning: the caller's own dict, unless planning would miss its call or text."""
    if isinstance(block, str):
        return {"type": "text", "text": block}
    if not isinstance(block, dict):
        return {"type": "text", "text": str(block)}
    kind = block.get("type")
    if kind in ("tool_call", "invalid_tool_call") and "arguments" not in block:
        arguments = _as_text(block.get("args"))
        return {
            "type": "tool_call",
            "id": block.get("id"),
            "name": block.get("name"),
            "arguments": arguments,
        }
    if kind == "text-plain":
        return {"type": "text", "text": str(block.get("text") or "")}
    return block


def _add_calls(planned: PlanDict, message: BaseMessage) -> None:
    """Every call once: from the parsed lists, else from the blocks, else from the raw arguments."""
    in_blocks: set[str] = set()
    calls: dict[str, PlanDict] = {}
    for call_id, name, arguments in _calls_of(message):
        calls.setdefault(call_id, _call(call_id, name, arguments))
    for block in _blocks(message):
        found = call_of_block(block)
        if found is None:
            continue
        if block.get("type") in _CALL_BLOCKS:
            in_blocks.add(found)
        else:  # a built-in tool of the provider
            more = {k: v for k, v in block.items() if k not in ("type", "id", "call_id")}
            calls.setdefault(found, _call(found, str(block["type"]), _as_text(more)))
    if calls and not in_blocks >= calls.keys():
        planned["tool_calls"] = list(calls.values())
    legacy = message.additional_kwargs.get("function_call")
    if isinstance(legacy, dict) and not calls and not in_blocks:
        planned["function_call"] = legacy


def _call(call_id: str, name: str, arguments: str) -> PlanDict:
    function = {"name": name, "arguments": arguments}
    return {"id": call_id, "type": "function", "function": function}


def _calls_of(message: BaseMessage) -> Iterator[tuple[str, str, str]]:
    """Id, name and arguments of the calls beside the content; what has no id cannot be answered."""
    if isinstance(message, AIMessage):
        for call in message.tool_calls:
            if call.get("id"):
                yield str(call["id"]), call["name"], _as_text(call["args"])
        for broken in message.invalid_tool_calls:
            if broken.get("id"):
                yield str(broken["id"]), broken.get("name") or "", broken.get("args") or ""
    for raw in message.additional_kwargs.get("tool_calls") or ():
        if isinstance(raw, dict) and raw.get("id"):
            function = raw.get("function") or raw.get("custom") or {}
            arguments = function.get("arguments") or function.get("input")
            yield str(raw["id"]), str(function.get("name") or ""), _as_text(arguments)


def _add_extras(planned: PlanDict, message: BaseMessage) -> None:
    """What integrations keep outside the content and send all the same."""
    extras = message.additional_kwargs
    field = extras.get("reasoning_content")
    if isinstance(field, str):
        planned["reasoning_content"] = field
    if isinstance(extras.get("refusal"), str) and extras["refusal"]:
        planned["refusal"] = extras["refusal"]
    if isinstance(extras.get("audio"), dict):
        planned["audio"] = {"id": extras["audio"].get("id")}
    more = [block for block in extras.get("tool_outputs") or () if isinstance(block, dict)]
    reasoning = extras.get("reasoning")
    if isinstance(reasoning, dict):
        more.insert(0, {"type": "thinking", "thinking": _as_text(reasoning)})
    elif isinstance(reasoning, str) and "reasoning_content" not in planned:
        planned["reasoning_content"] = reasoning
    if more:
        content = planned["content"]
        parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
        thinking = [block for block in more if block["type"] == "thinking"]
        rest = [block for block in more if block.get("type") != "thinking"]
        planned["content"] = [*thinking, *(p for p in parts if p.get("text") != ""), *rest]


def _as_text(value: object) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else json_text(value, ensure_ascii=False)


def planned_dicts(messages: Sequence[BaseMessage], profile: str) -> list[PlanDict]:
    """The dicts for planning, where a message that a program wrote mid-turn opens no turn.

    Such a message stands in the user's role. Where two user messages may follow each other it is
    planned as part of the running turn, so that the turn still begins with what a person typed.
    """
    planned = plan_dicts(messages)
    if profile in _ALTERNATING:
        return planned
    typed = False
    for i, message in enumerate(messages):
        if typed and is_generated(message) and planned[i]["role"] == "user":
            planned[i] = {**planned[i], "role": "assistant"}
        typed = typed or is_typed_by_a_person(message)
    return planned
