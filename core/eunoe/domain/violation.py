"""A rule that a list of messages breaks."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Violation:
    """A rule of the provider that a list breaks: its code, the message's place, a sentence."""

    code: str
    index: int
    message: str
