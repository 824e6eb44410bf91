"""Short ways to write LangChain message lists, random ones, and what providers refuse."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)


def human(text: Any, **fields: Any) -> HumanMessage:
    """A user message."""
    return HumanMessage(content=text, **fields)


def ai(text: Any = "", *calls: str, args: dict[str, Any] | None = None, **fields: Any) -> AIMessage:
    """An answer; each further argument is the id of a call that it makes."""
    tool_calls = [{"name": "look", "args": args or {}, "id": c, "type": "tool_call"} for c in calls]
    return AIMessage(content=text, tool_calls=tool_calls, **fields)


def system(text: Any, **fields: Any) -> SystemMessage:
    """A system message."""
    return SystemMessage(content=text, **fields)


def result(call: str, text: Any = "found", **fields: Any) -> ToolMessage:
    """The result of a call."""
    return ToolMessage(content=text, tool_call_id=call, **fields)


def long_history(turns: int = 8, words: int = 20) -> list[BaseMessage]:
    """System, so many turns, and a last question."""
    out: list[BaseMessage] = [system("sys")]
    for _ in range(turns):
        out += [human("q " * words), ai("a " * words)]
    return [*out, human("now?")]


def same_objects(one: Sequence[object], other: Sequence[object]) -> bool:
    """Whether two lists hold the same objects in the same order."""
    return len(one) == len(other) and all(a is b for a, b in zip(one, other, strict=True))


def places(out: Sequence[object], given: Sequence[object]) -> list[int | None]:
    """Where each output message stands in the input, None for a new one."""
    found = {id(m): i for i, m in enumerate(given)}
    return [found.get(id(m)) for m in out]


def frozen(messages: Sequence[BaseMessage]) -> list[tuple[int, dict[str, Any]]]:
    """Identity and a deep copy of every field, to compare before and after."""
    return [(id(m), copy.deepcopy(m.__dict__)) for m in messages]


def problems(messages: Sequence[BaseMessage]) -> list[str]:
    """What providers refuse: results without calls, calls without results, no user message."""
    found = [] if any(isinstance(m, HumanMessage) for m in messages) else ["no user message"]
    waiting: set[str] = set()
    for i, message in enumerate(messages):
        if isinstance(message, ToolMessage):
            if message.tool_call_id not in waiting:
                found.append(f"{i}: result without its call")
            waiting.discard(message.tool_call_id)
            continue
        if waiting:
            found.append(f"{i}: calls without results")
        calls = message.tool_calls if isinstance(message, AIMessage) else []
        waiting = {str(c["id"]) for c in calls}
    body = [m for m in messages if not isinstance(m, SystemMessage)]
    if body and not isinstance(body[0], HumanMessage):
        found.append("does not begin with a user message")
    return found


WORDS = st.text(alphabet="abc öß水😀", min_size=1, max_size=60).map(lambda t: t + ".")


@st.composite
def histories(draw: st.DrawFn, *, broken: bool = False) -> list[BaseMessage]:
    """Chats with tool use, media, twins and odd fields; if ``broken``, with pieces missing."""
    out: list[BaseMessage] = [system(draw(WORDS)) for _ in range(draw(st.integers(0, 2)))]
    counter = 0
    for _ in range(draw(st.integers(1, 6))):
        out.append(human(draw(st.one_of(WORDS, _PARTS)), name=draw(st.sampled_from([None, "ann"]))))
        for _ in range(draw(st.integers(0, 2))):
            calls = [f"c{counter + k}" for k in range(draw(st.integers(1, 3)))]
            counter += len(calls)
            out.append(
                ai(draw(st.sampled_from(["", "let me look"])), *calls, args={"q": draw(WORDS)})
            )
            out += [result(c, draw(WORDS) * draw(st.sampled_from([1, 30]))) for c in calls]
        if draw(st.booleans()):
            out.append(ai(draw(WORDS), additional_kwargs={"custom": [1]}))
    out.append(human(draw(WORDS)))
    if broken:
        missing = draw(st.sets(st.integers(0, len(out) - 1), max_size=4))
        out = [m for i, m in enumerate(out) if i not in missing]
    return out


_PARTS = st.lists(
    st.one_of(
        WORDS.map(lambda t: {"type": "text", "text": t}),
        st.just({"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}),
        st.just({"type": "novel", "payload": {"x": 1}}),
    ),
    min_size=1,
    max_size=3,
)
