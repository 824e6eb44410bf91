"""Names that the tests share, and chats of harmless words."""

from __future__ import annotations

import random
import re
from typing import Any

FILTER = "eunoe"
WINDOW_MODEL = "paper-4k"
PLAIN_MODEL = "paper"
PRICED_MODEL = "gpt-4o"
WINDOW = 4096

_WORDS = (
    "the river house over under garden water stone light paper table window morning evening "
    "road small large green blue open close walk talk read write build carry follow number "
    "letter answer question summer winter market bridge train music story because without "
    "between after before always never often people friend mother father school office"
).split()


# Questions that stay with the subject, as most do in a chat.
FOLLOW_UPS = (
    "Good, and now?",
    "Tell me more about it.",
    "Why is that so?",
    "Thanks. What comes next?",
)


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


def told_tokens(status: str) -> float:
    """How many tokens a status line says were sent."""
    found = re.match(r"sent ≈?([\d.]+)(k?) of ", status)
    assert found, status
    return float(found[1]) * (1000 if found[2] else 1)


def office_chat() -> list[tuple[str, str]]:
    """A chat as it might be in an office: many small subjects, and a fact near its beginning."""
    chat = [
        ("user", "Our PostgreSQL database moved: it listens on port 54329 of the host atlas now."),
        ("assistant", "Noted: PostgreSQL runs on atlas, port 54329."),
    ]
    for number, subject in enumerate(_SUBJECTS * 5):
        answer = (
            f"Here is a draft about {subject}. It says what was decided, who takes part, what is "
            "still open and until when, and it asks everybody for remarks by Thursday. The tone "
            "is friendly and short; I left the names out, so that you can add them. Shall I make "
            f"a second version of the note about {subject} for the customers?"
        )
        chat.append(("user", f"Please draft a note about {subject} for week {number + 2}."))
        chat.append(("assistant", answer))
    return chat


_SUBJECTS = (
    "the summer party",
    "the new coffee machine",
    "holidays between the years",
    "the fire drill",
    "parking behind the house",
    "the spring cleaning",
    "the photo for the home page",
    "the trade fair in Lyon",
)
