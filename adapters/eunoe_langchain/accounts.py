"""Reports on lists that were not planned as they came."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from eunoe import Fate, Report
from eunoe.domain.report import DecisionList


def unplanned_report(size: int, max_tokens: int, error: Exception) -> Report:
    """The report on messages that go on as they came, since planning failed."""
    return Report(
        decisions=DecisionList([0] * size, dict.fromkeys(range(size), Fate.KEPT)),
        tokens_before=0,
        tokens_after=0,
        budget=max_tokens,
        warnings=(f"planning failed ({type(error).__name__}); the messages went on unchanged",),
    )


def report_with_orders(report: Report, sendable: Sequence[int], total: int) -> Report:
    """The report for the list as given, where orders to a message store stood between messages."""
    decided = dict(zip(sendable, report.decisions, strict=True))
    orders = [i for i in range(total) if i not in decided]
    decisions = DecisionList(
        [decided[i].tokens if i in decided else 0 for i in range(total)],
        {i: d.fate for i, d in decided.items()},
        [decided[i].score if i in decided else 0.0 for i in range(total)],
        {
            **{i: d.reason for i, d in decided.items()},
            **dict.fromkeys(orders, "an order to a message store is no message"),
        },
    )
    mended = (*report.mended, f"left out {len(orders)} RemoveMessage")
    return replace(report, decisions=decisions, mended=mended)
