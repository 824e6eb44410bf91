"""A judge of message lists that knows nothing of the library: plain rules on plain dicts.

Tokens are a third of the characters, so that a test needs no vocabulary; ``ThirdsCounter`` gives
the library the same measure.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

Raw = dict[str, Any]

HEADS = ("system", "developer")
SYSTEM_FIRST = ("anthropic", "gemini", "mistral", "template")
STRICT_TURNS = ("mistral", "template")
NO_BLANKS = ("anthropic", "gemini", "mistral")
CALL_BLOCKS = {
    "tool_use": "id",
    "tool_call": "id",
    "function_call": "call_id",
    "custom_tool_call": "call_id",
}
RESULT_BLOCKS = {"tool_result": "tool_use_id", "function_call_output": "call_id"}
MEDIA = {"image_url": 765, "input_image": 765, "image": 765, "input_audio": 300, "file": 300}


class ThirdsCounter:
    """Counts a token for every three characters."""

    name = "thirds"
    exact = True

    def count(self, text: str) -> int:
        """Tokens of a text."""
        return -(-len(text) // 3)

    def count_batch(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text."""
        return [self.count(text) for text in texts]


def thirds(text: object) -> int:
    return -(-len(text) // 3) if isinstance(text, str) else 0


def blocks_of(message: Raw) -> list[Raw]:
    content = message.get("content")
    return [b for b in content if isinstance(b, dict)] if isinstance(content, list) else []


def call_ids(message: Raw) -> list[Any]:
    """Ids of the calls of a message, each once."""
    if message.get("role") != "assistant":
        return []
    ids = [c.get("id") for c in message.get("tool_calls") or [] if isinstance(c, dict)]
    for block in blocks_of(message):
        key = CALL_BLOCKS.get(str(block.get("type")))
        if key and block.get(key) not in ids:
            ids.append(block.get(key))
    return ids


def result_ids(message: Raw) -> list[Any]:
    """Ids of the calls that a message answers: a tool's, or a user's in blocks."""
    if message.get("role") == "tool" and "tool_call_id" in message:
        return [message.get("tool_call_id")]
    kinds = [(RESULT_BLOCKS.get(str(b.get("type"))), b) for b in blocks_of(message)]
    ids = [b.get(key) for key, b in kinds if key is not None]
    return ids or ([None] if message.get("role") == "tool" else [])


def said(message: Raw) -> str:
    """The text of a message."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    return "\n".join(b["text"] for b in blocks_of(message) if isinstance(b.get("text"), str))


def count(message: Raw) -> int:
    """What a message takes at the very least."""
    total, content = 4, message.get("content")
    if isinstance(content, str):
        total += thirds(content)
    for block in blocks_of(message):
        kind = str(block.get("type"))
        if kind in MEDIA:
            details = (block.get("image_url") or {}).get("detail")
            total += 85 if details == "low" else MEDIA[kind]
        elif kind in CALL_BLOCKS:
            total += 0 if message.get("tool_calls") else 4 + thirds(block.get("name"))
        else:
            total += sum(thirds(block.get(key)) for key in ("text", "thinking"))
    for call in message.get("tool_calls") or []:
        if isinstance(call, dict):
            body = call.get("function") or {}
            total += 4 + thirds(body.get("name")) + thirds(body.get("arguments"))
    return total + thirds(message.get("reasoning_content"))


def count_list(messages: Sequence[Raw]) -> int:
    """What a list takes at the very least, framing included."""
    return sum(map(count, messages)) + (3 if messages else 0)


def current_turn(messages: Sequence[Raw]) -> list[Raw]:
    """System messages and everything from the last user message with something in it."""
    last = max(
        (
            i
            for i, m in enumerate(messages)
            if m.get("role") == "user" and not is_blank(m) and not result_ids(m)
        ),
        default=0,
    )
    return [m for i, m in enumerate(messages) if i >= last or m.get("role") in HEADS]


def is_blank(message: Raw) -> bool:
    """Nothing in it but blanks."""
    if call_ids(message) or message.get("function_call"):
        return False
    other = any(
        b.get("type") not in ("text", "input_text", "output_text") for b in blocks_of(message)
    )
    return not other and not said(message).strip()


def faults(messages: Sequence[Raw], profile: str, *, thinking: bool = False) -> list[str]:
    """Why the provider would refuse the list; empty if it would not.

    Args:
        thinking: reasoning came back with some message of the whole chat.
    """
    found = [*_pair_faults(messages), *_role_faults(messages, profile)]
    items: list[Any] = []
    for i, message in enumerate(messages):
        content, last = message.get("content"), i == len(messages) - 1
        if content in (None, []) and not call_ids(message) and not message.get("function_call"):
            found.append(f"{i} empty")
        if profile in NO_BLANKS and message.get("role") != "tool" and is_blank(message):
            found.append(f"{i} blank")
        if _has_half(message):
            found.append(f"{i} half a character")
        if message.get("role") == "assistant":
            found += _block_faults(i, message, profile, items, last=last)
        if profile == "deepseek" and thinking and call_ids(message):
            found += [] if "reasoning_content" in message else [f"{i} no reasoning"]
    return found


def _pair_faults(messages: Sequence[Raw]) -> list[str]:
    found: list[str] = []
    waiting: list[Any] = []
    answered: set[Any] = set()
    old = False
    for i, message in enumerate(messages):
        role = message.get("role")
        if role in ("tool", "user") and (keys := result_ids(message)):
            for key in keys:
                if key in waiting:
                    waiting.remove(key)
                    answered.add(key)
                else:
                    found.append(f"{i} {'second result' if key in answered else 'orphan'} {key}")
            continue
        if role == "function":
            found += [] if old else [f"{i} orphan of a function"]
            old = False
            continue
        if waiting or old:
            found.append(f"{i} stands before results {waiting}")
        waiting, answered = list(call_ids(message)), set()
        old = bool(message.get("function_call")) and not message.get("tool_calls")
        if len(set(waiting)) < len(waiting):
            found.append(f"{i} one id twice")
    if waiting and answered:
        found.append(f"end: results missing {waiting}")
    return found


def _role_faults(messages: Sequence[Raw], profile: str) -> list[str]:
    roles = [m.get("role") for m in messages]
    body = [i for i, role in enumerate(roles) if role not in HEADS]
    found = []
    if profile in SYSTEM_FIRST and messages:
        if body and any(role in HEADS for role in roles[body[0] :]):
            found.append("a late system message")
        if not body or roles[body[0]] != "user":
            found.append("no user message first")
    if profile in STRICT_TURNS:
        spoken = [
            i
            for i in body
            if roles[i] in ("user", "assistant")
            and not call_ids(messages[i])
            and not result_ids(messages[i])
            and not messages[i].get("function_call")
        ]
        found += [f"{j} same role" for i, j in pairwise(spoken) if roles[i] == roles[j]]
    return found


def _block_faults(i: int, message: Raw, profile: str, items: list[Any], *, last: bool) -> list[str]:
    found, blocks = [], blocks_of(message)
    kinds = [str(b.get("type")) for b in blocks]
    used = {str(b.get("id")) for b in blocks if b.get("type") == "server_tool_use"}
    got = {str(b.get("tool_use_id")) for b in blocks if str(b.get("type")).endswith("_tool_result")}
    if got - used or (used - got and not last):
        found.append(f"{i} server tool split")
    if profile == "anthropic" and "thinking" in kinds and kinds[0] != "thinking":
        found.append(f"{i} thinking late")
    if profile == "responses":
        if kinds and kinds[-1] == "reasoning":
            found.append(f"{i} reasoning alone")
        for block in blocks:
            if block.get("id"):
                found += [f"{i} item twice"] if block["id"] in items else []
                items.append(block["id"])
    return found


def _has_half(value: Any) -> bool:
    if isinstance(value, str):
        return any("\ud800" <= c <= "\udfff" for c in value)
    if isinstance(value, dict):
        return any(_has_half(k) or _has_half(v) for k, v in value.items())
    return isinstance(value, list) and any(map(_has_half, value))
