"""What comes back from a request."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from eunoe.domain.conversation import Conversation
from eunoe.domain.placement import Placement
from eunoe.domain.report import Report
from eunoe.pipeline.arranging.slots import Slot
from eunoe.pipeline.chat.sent_windows import SentWindow
from eunoe.pipeline.summaries.writing import SummaryJob
from eunoe.pipeline.usage_factor import COUNTED_KEY
from eunoe.stages.accounting.forecast import RequestForecast
from eunoe.wire.given_forms import fields_given


@dataclass(frozen=True, kw_only=True, eq=False)
class OrchestratorResult:
    """The list to send, where each message of it comes from, and the account.

    What only some callers look at is made when it is looked at. Pickled or copied it is a value, on
    its own: all of that is made then, and ``due``, the orchestrator's own affair, is left behind.

    Attributes:
        conversation: ``conversation.to_openai_messages()`` is ready to send.
        report: what was kept, recalled, shortened and left out, and why.
        place, foresee: make ``placements`` and ``forecast``.
        due: the summary that should be written now, where the orchestrator does not do so itself:
            see ``ContextOrchestrator.write_summary``.
        sent: where the window begins that was sent; None if the whole chat was.
    """

    conversation: Conversation
    report: Report
    place: Callable[[], tuple[Placement, ...]]
    foresee: Callable[[], RequestForecast]
    due: SummaryJob | None = None
    sent: SentWindow | None = None

    def __reduce__(self) -> tuple[Callable[..., OrchestratorResult], tuple[object, ...]]:
        values = self.conversation, self.report, self.placements, self.forecast, self.sent
        return _result_of_values, values

    @cached_property
    def placements(self) -> tuple[Placement, ...]:
        """One for each message of the list to send."""
        return self.place()

    @cached_property
    def forecast(self) -> RequestForecast:
        """What the list will take, beside two other ways; see ``enter_requests``."""
        return self.foresee()

    def reported(self, usage: object) -> dict[str, Any]:
        """The provider's report of this request, with our count of it: ``usage`` of the next.

        Args:
            usage: a mapping, or the object that a client's library has for it.

        Returns:
            Empty where nothing was reported.
        """
        fields = fields_given(usage)
        return {**fields, COUNTED_KEY: self.report.tokens_after} if fields else {}

    @property
    def token_count(self) -> int:
        """Tokens of the list to send, framing and tools included."""
        return self.report.tokens_after


def _result_of_values(
    conversation: Conversation,
    report: Report,
    placements: tuple[Placement, ...],
    forecast: RequestForecast,
    sent: SentWindow | None,
) -> OrchestratorResult:
    return OrchestratorResult(
        conversation=conversation,
        report=report,
        place=partial(_as_it_is, placements),
        foresee=partial(_as_it_is, forecast),
        sent=sent,
    )


def _as_it_is(value: Any) -> Any:
    return value


def placements_of(
    conversation: Conversation, slots: Sequence[Slot] | None
) -> tuple[Placement, ...]:
    """Where each message of the output comes from; without slots the input went through whole."""
    if slots is None:
        return tuple(Placement(index=i, message=raw) for i, raw in enumerate(conversation.raw))
    return tuple(
        Placement(index=s.index, message=s.raw, changed=s.changed, fate=s.fate) for s in slots
    )
