"""The `X-Eunoe-*` headers of an answer: what became of its request."""

from __future__ import annotations

from eunoe.domain.report import Fate, Report
from eunoe_proxy.asgi import Headers
from eunoe_proxy.fitting import Fitted
from eunoe_proxy.wishes import Wishes


def account_headers(fitted: Fitted, wishes: Wishes) -> Headers:
    """One header for each figure; numbers and fixed words, never text of a message."""
    report = fitted.report
    if report is None:
        pairs = {"outcome": "untouched", "reason": fitted.why}
    else:
        pairs = {"outcome": "fitted" if fitted.changed else "same", **_figures(report)}
    if wishes.ignored:
        pairs["ignored"] = ", ".join(wishes.ignored)
    return [(f"x-eunoe-{name}".encode(), value.encode()) for name, value in pairs.items()]


def _figures(report: Report) -> dict[str, str]:
    counts = report.counts()
    cut = "none"
    if report.cut is not None:
        cut = "declared" if report.cut.declared else "held"
    pairs = {
        "policy": report.policy,
        "profile": report.profile,
        "tokens-before": str(report.tokens_before),
        "tokens-after": str(report.tokens_after),
        "tokens-allowed": str(report.budget or "unlimited"),
        "estimated": _yes(report.estimated),
        "recalled": str(report.recalled),
        "dropped": str(counts.get(Fate.DROPPED.value, 0)),
        "cut": cut,
        "truncated": _yes(report.truncated),
        "mended": str(len(report.mended)),
        "warnings": str(len(report.warnings) + len(report.violations)),
    }
    if report.infeasible is not None:
        pairs["over-budget"] = str(report.infeasible.needed - report.infeasible.allowed)
    return pairs


def _yes(value: bool) -> str:
    return "true" if value else "false"
