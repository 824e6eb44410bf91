"""``relevance`` with MiniLM vectors, as ``recall.py`` asks a selector."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from eunoe import ContextOrchestrator, Conversation, Settings, TokenBudget
from eunoe_backends import MiniLmEmbedder

SHOWN = ("kept", "recalled")
FRAMING = 7


class MiniLmSelector:
    """Chooses by words and meaning; vectors are made in the request, once for each text."""

    name = "eunoe relevance, MiniLM"

    def __init__(self) -> None:
        self.embedder = MiniLmEmbedder()
        self.askers: dict[int, ContextOrchestrator] = {}

    def prepare(self, messages: Sequence[Any]) -> None:
        """Forget the chat before."""
        self.askers = {}

    def select(
        self,
        messages: Sequence[dict[str, Any]],
        query: str,
        budget: int,
        count: Callable[[dict[str, Any]], int],
    ) -> Iterable[int]:
        """Indices of what is sent word for word, the most relevant first."""
        question = {"role": "user", "content": query}
        allowed = budget + count(question) + FRAMING
        asker = self.askers.get(allowed)
        if asker is None:
            asker = self.askers[allowed] = ContextOrchestrator(
                TokenBudget(max_tokens=allowed),
                settings=Settings(policy="relevance"),
                embedder=self.embedder,
                embed_in_request=True,
            )
        given = Conversation.from_openai_messages([*messages, question])
        report = asker.process_sync(given, model_id="gpt-4o").report
        shown = [d for d in report.decisions if d.fate.value in SHOWN and d.index < len(messages)]
        return [d.index for d in sorted(shown, key=lambda d: (-(d.score or 0.0), -d.index))]


def make_minilm_selector() -> MiniLmSelector:
    """A selector, for ``--plug``."""
    return MiniLmSelector()
