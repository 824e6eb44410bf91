"""What the house asks of the outside: small protocols, so that every part can be another's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class TokenCounter(Protocol):
    """**Protocol:** counts the tokens of plain text. Synchronous, pure, safe across threads."""

    @property
    def name(self) -> str:
        """What counts, for the report. Counters of one name count alike."""
        ...

    @property
    def exact(self) -> bool:
        """Whether this is the model's own tokenizer."""
        ...

    def count(self, text: str) -> int:
        """Tokens of the text, at least 0."""
        ...

    def count_batch(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, as ``count`` would give them."""
        ...
