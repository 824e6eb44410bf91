"""What comes back from a request."""

from __future__ import annotations

from dataclasses import dataclass

from eunoe.domain.conversation import Conversation
from eunoe.domain.report import Placement, Report


@dataclass(frozen=True, slots=True, kw_only=True)
class OrchestratorResult:
    """The list to send, where each message of it comes from, and the account.

    Attributes:
        conversation: ``conversation.to_openai_messages()`` is ready to send.
        placements: one for each message of it.
        report: what was kept, recalled, shortened and left out, and why.
    """

    conversation: Conversation
    placements: tuple[Placement, ...]
    report: Report

    @property
    def token_count(self) -> int:
        """Tokens of the list to send, framing and tools included."""
        return self.report.tokens_after
