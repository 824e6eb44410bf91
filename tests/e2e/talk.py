"""Names that the tests share, and chats of harmless words."""

from __future__ import annotations

import random
from typing import Any

FILTER = "eunoe"
WINDOW_MODEL = "paper-4k"
PLAIN_MODEL = "paper"
WINDOW = 4096

_WORDS = (
    "the river house over under garden water stone light paper table window morning evening "
    "road small large green blue open close walk talk read write build carry follow number "
    "letter answer question summer winter market bridge train music story because without "
    "between after before always never often people friend mother father school office"
).split()


def words(count: int, seed: int) -> str:
    """So many words, the same for the same seed."""
    return " ".join(random.Random(seed).choices(_WORDS, k=count)) + "."


def long_chat(turns: int, size: int = 40) -> list[tuple[str, str]]:
    """Questions and answers as (role, text), about 2 * `size` words a turn."""
    chat = []
    for turn in range(turns):
        chat.append(("user", f"Question {turn}: {words(size, 2 * turn)}"))
        chat.append(("assistant", f"Answer {turn}: {words(size, 2 * turn + 1)}"))
    return chat


def as_messages(chat: list[tuple[str, str]]) -> list[dict[str, Any]]:
    """The chat as a program sends it."""
    return [{"role": role, "content": text} for role, text in chat]
