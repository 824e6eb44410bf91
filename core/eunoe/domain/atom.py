"""The indivisible unit of everything after reading: a call with exactly its results."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Atom:
    """Messages that are kept or left out together.

    Attributes:
        indices: places of its messages in the input, in the order in which they are sent.
        turn: number of the turn it belongs to, from 0.
        system: a system or developer message.
        unanswered: ids of calls that have no result.
        broken: why it can never stand in a list (then it can only be quoted); empty if it can.
        first: place of its first message in the input.
    """

    indices: tuple[int, ...]
    turn: int
    system: bool = False
    unanswered: tuple[str | None, ...] = ()
    broken: str = ""
    first: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "first", min(self.indices))
