"""What comes back from a request."""

from __future__ import annotations

from dataclasses import dataclass

from eunoe.domain.conversation import Conversation
from eunoe.domain.report import Placement, Report
from eunoe.stages.accounting.forecast import RequestForecast


@dataclass(frozen=True, slots=True, kw_only=True)
class OrchestratorResult:
    """The list to send, where each message of it comes from, and the account.

    Attributes:
        conversation: ``conversation.to_openai_messages()`` is ready to send.
        placements: one for each message of it.
        report: what was kept, recalled, shortened and left out, and why.
        forecast: what it will take, beside two other ways; ``account_requests`` makes a ledger of
            it, with the usage that the provider reports.
    """

    conversation: Conversation
    placements: tuple[Placement, ...]
    report: Report
    forecast: RequestForecast

    @property
    def token_count(self) -> int:
        """Tokens of the list to send, framing and tools included."""
        return self.report.tokens_after
