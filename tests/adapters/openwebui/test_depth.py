"""A body that is nested deeper than Python's calls can go is fitted like any other."""

from __future__ import annotations

from typing import Any


def test_a_deep_body_goes_through(plugin: Any, new_host: None) -> None:
    deep: Any = "leaf"
    for i in range(3_000):
        deep = [deep] if i % 2 else {"k": deep}
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": deep}}
    messages = [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": [deep]},
        {"role": "user", "content": "and now?", "x": deep},
    ]
    tools = [{"type": "function", "function": {"name": "f", "parameters": deep}}]
    body = {"model": "gpt-4o", "messages": messages, "tools": tools}
    for _ in range(2):
        body = plugin.call("request", body, __metadata__={"chat_id": "c"})
        assert [id(m) for m in body["messages"]] == [id(m) for m in messages]
    assert plugin.status.startswith("sent")
