"""Flags in a message that the host has put documents in front of: they come first again.

With documents or search results the newest user message reads ``### Task ... <context> ...``, and
what the user wrote, flags included, stands at its end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from eunoe.stages.flags import read_flags
from eunoe_openwebui.firsttext import first_text, with_first_text


def with_flags_in_front(
    messages: Sequence[Mapping[str, Any]], written: str
) -> list[Mapping[str, Any]]:
    """The messages, with the flags of the newest user message at its beginning.

    Args:
        messages: as the host gives them.
        written: what the user wrote, by the host's account.
    """
    result = list(messages)
    reading = read_flags(written)
    if reading is None or reading.problems:
        return result
    flags = written.removesuffix(reading.rest) if reading.rest else written.rstrip() + " "
    for place in range(len(result) - 1, -1, -1):
        text = first_text(result[place])
        if result[place].get("role") == "user" and text.endswith(written) and text != written:
            whole = flags + text.removesuffix(written) + reading.rest
            result[place] = with_first_text(result[place], whole)
            break
    return result
