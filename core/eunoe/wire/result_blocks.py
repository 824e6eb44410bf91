"""Results of tools that stand as blocks in a message of the user, one or several.

Source: Anthropic docs, Messages API: ``tool_result``, which stands first in the user's message
behind the ``tool_use``; OpenAI API reference, Responses: ``function_call_output``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from eunoe.domain.nesting import written_text
from eunoe.wire.given_forms import row_given
from eunoe.wire.part_kinds import RESULT_BLOCKS, answering_block, result_keys, said_key


def answered_in_blocks(role: object, parts: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """The calls that a message answers in blocks, in order; none for the assistant's."""
    if role not in ("user", "tool"):
        return ()
    return tuple(
        written_text(part[keys[0]])
        for part in parts
        if (keys := result_keys(part)) is not None and part.get(keys[0]) is not None
    )


def speaks_as_user(raw: Mapping[str, Any]) -> bool:
    """Whether a user speaks in a message, rather than a tool in the user's role."""
    parts = row_given(raw.get("content")) or ()
    return raw.get("role") == "user" and not any(map(result_keys, parts))


def result_block(call_id: str | None, text: str, like: Mapping[str, Any]) -> dict[str, Any] | None:
    """A message with a result in blocks, as another has it or its calls want it; else None."""
    for part in row_given(like.get("content")) or ():
        kind = part["type"] if result_keys(part) is not None else answering_block(part)
        if kind is not None:
            answers, says = RESULT_BLOCKS[kind]
            role = "user" if like.get("role") == "assistant" else like.get("role")
            return {"role": role, "content": [{"type": kind, answers: call_id, says: text}]}
    return None


def with_results_said(content: Sequence[Any], text: str, *, alone: bool) -> list[Any] | None:
    """Content with this text in place of all that its results, and what stands beside them, say.

    The first result says all of it; the others stay, as each call must have its own.

    Args:
        alone: pictures and other parts go too.

    Returns:
        None if there is no result in it.
    """
    parts: list[Any] = []
    said = False
    for part in content:
        keys = result_keys(part)
        if keys is not None:
            shown = [] if alone else _not_texts(row_given(part.get(keys[1])) or ())
            now = "" if said else text
            first = [{"type": _text_type(part), "text": now}] if now else []
            parts.append({**part, keys[1]: [*first, *shown] if shown else now})
            said = True
        elif not alone:
            parts += _not_texts([part])
    return parts if said else None


def _text_type(block: Mapping[str, Any]) -> str:
    return "text" if block["type"] == "tool_result" else "input_text"


def _not_texts(parts: Sequence[Any]) -> list[Any]:
    return [p for p in parts if isinstance(p, Mapping) and said_key(p) is None]
