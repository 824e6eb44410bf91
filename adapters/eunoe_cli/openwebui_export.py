"""Read a chat that Open WebUI exported: a tree of messages, of which one branch is in view.

Source: files of "Export chats" of Open WebUI 0.5 to 0.12: ``chat.history.messages`` by id with
``parentId``, ``chat.history.currentId``, and ``chat.messages``, the branch as a list; tool rounds
lie in ``output`` items of the Responses kind.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from eunoe import ChatFileError

_REASONING_BLOCK = re.compile(r'<details type="reasoning".*?</details>\s*', re.DOTALL)


def is_exported_chat(value: Mapping[str, Any]) -> bool:
    """Whether this is one chat of an export, or the ``chat`` inside it."""
    inner = value.get("chat")
    return isinstance(inner, Mapping) or isinstance(value.get("history"), Mapping)


def read_exported_chat(
    path: str, place: str, value: Mapping[str, Any]
) -> tuple[str, list[dict[str, Any]]]:
    """Title and messages of the branch in view, as the host would send them.

    Raises:
        ChatFileError: a parent is missing, the tree has a loop, or there is no message.
    """
    inner = value.get("chat")
    chat: Mapping[str, Any] = inner if isinstance(inner, Mapping) else value
    title = value.get("title") or chat.get("title") or ""
    messages: list[dict[str, Any]] = []
    system = _system_prompt(chat)
    if system:
        messages.append({"role": "system", "content": system})
    for message in _branch_in_view(path, place, chat):
        messages += _to_openai(message)
    return (title if isinstance(title, str) else ""), messages


def _system_prompt(chat: Mapping[str, Any]) -> str:
    params = chat.get("params")
    found = params.get("system") if isinstance(params, Mapping) else None
    found = found or chat.get("system")
    return found if isinstance(found, str) else ""


def _branch_in_view(path: str, place: str, chat: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """From the root to ``currentId``; the plain list where the export has no tree."""
    history = chat.get("history")
    tree = history.get("messages") if isinstance(history, Mapping) else None
    here = f"{place} " if place else ""
    if not isinstance(tree, Mapping) or not tree:
        listed = chat.get("messages")
        if not isinstance(listed, list):
            where = f"{here}chat"
            raise ChatFileError(
                path, where, "found neither history.messages nor messages; expected one of them"
            )
        return [m for m in listed if isinstance(m, Mapping)]
    assert isinstance(history, Mapping)  # noqa: S101  # a tree was found in it
    current = history.get("currentId")
    if current is None:
        current = list(tree)[-1]
    branch: list[Mapping[str, Any]] = []
    seen: set[Any] = set()
    while current is not None:
        message = tree.get(current)
        where = f"{here}chat.history.messages[{current!r}]"
        if not isinstance(message, Mapping):
            raise ChatFileError(path, where, "not in the tree; expected the parent of a message")
        if current in seen:
            raise ChatFileError(path, where, "is its own ancestor; expected a tree")
        seen.add(current)
        branch.append(message)
        current = message.get("parentId")
    return branch[::-1]


def _to_openai(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One stored message as the messages that a provider gets; an empty answer gives none."""
    role, output = message.get("role"), message.get("output")
    if role == "assistant" and isinstance(output, list) and output:
        made = _from_output([item for item in output if isinstance(item, Mapping)])
        if made:
            return made
    content = message.get("content")
    if role == "assistant" and isinstance(content, str):
        content = _REASONING_BLOCK.sub("", content)
        if not content.strip():
            return []
    pictures = _pictures(message.get("files"))
    if role == "user" and pictures and isinstance(content, str):
        content = [{"type": "text", "text": content}, *pictures]
    return [{"role": role, "content": content}]


def _pictures(files: Any) -> list[dict[str, Any]]:
    return [
        {"type": "image_url", "image_url": {"url": file["url"]}}
        for file in (files if isinstance(files, list) else [])
        if isinstance(file, Mapping) and file.get("type") == "image" and file.get("url")
    ]


def _from_output(items: list[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Items of the Responses kind as chat messages; unpaired calls and results are left out."""
    answered = {i.get("call_id") for i in items if i.get("type") == "function_call_output"}
    called = {i.get("call_id") for i in items if i.get("type") == "function_call"}
    made: list[dict[str, Any]] = []
    calls: list[dict[str, Any]] = []
    texts: list[str] = []

    def close_message() -> None:
        if texts or calls:
            message: dict[str, Any] = {"role": "assistant", "content": "\n".join(texts)}
            made.append({**message, "tool_calls": calls[:]} if calls else message)
        texts.clear()
        calls.clear()

    for item in items:
        kind = item.get("type")
        if kind == "message":
            if calls:
                close_message()
            texts += [t for t in _texts(item.get("content")) if t.strip()]
        elif kind == "function_call" and item.get("call_id") in answered:
            function = {"name": item.get("name"), "arguments": item.get("arguments") or "{}"}
            calls.append({"id": item["call_id"], "type": "function", "function": function})
        elif kind == "function_call_output" and item.get("call_id") in called:
            close_message()
            text = "".join(_texts(item.get("output")))
            made.append({"role": "tool", "tool_call_id": item.get("call_id"), "content": text})
    close_message()
    return made


def _texts(parts: Any) -> Iterable[str]:
    if isinstance(parts, str):
        return [parts]
    found = [p.get("text") for p in parts or [] if isinstance(p, Mapping)]
    return [t for t in found if isinstance(t, str)]
