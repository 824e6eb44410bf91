"""What an observer is told of a request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from eunoe.domain.report import Report


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestEvent:
    """One request that was answered: numbers and reasons, no text of any message.

    Attributes:
        report: of the request; ``cache_lost`` is filled in for a chat that was met before.
        model_id: the model, as the caller named it; may be empty.
        session_id: the chat, as the caller named it; may be empty.
        forecast: tokens that the request takes, by name: ``sent``, ``sent_repeated`` (of these,
            those that open the request before, too), and the same of the ``untouched`` chat and of
            a plain ``window``.
        ledger: the figures of the request, as ``Ledger.from_flat`` reads them: estimated, or
            measured where the provider's report is there; money is in them where the model's price
            is known.
        milliseconds: that each stage took, by its name, in order.
        roles: of the messages that were given, in order.
        parts: tokens of what is sent, by what it is: ``system``, ``tools``, ``summary``,
            ``window``, ``recalled``, ``question``; parts without a token are left out.
        key: names the request; a later event of the same key takes the place of the earlier one,
            as when the provider's report is there. Empty for a request that is told of once.
        source: who tells, for people; empty for the library.
    """

    report: Report
    model_id: str = ""
    session_id: str = ""
    forecast: Mapping[str, int] = field(default_factory=dict)
    ledger: Mapping[str, int] = field(default_factory=dict)
    milliseconds: Mapping[str, float] = field(default_factory=dict)
    roles: tuple[str, ...] = ()
    parts: Mapping[str, int] = field(default_factory=dict)
    key: str = ""
    source: str = ""
