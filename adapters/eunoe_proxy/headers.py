"""The `X-Eunoe-*` headers of an answer: what became of its request."""

from __future__ import annotations

from collections.abc import Mapping

from eunoe.domain.cost import RequestCost
from eunoe.domain.report import Fate, Report
from eunoe_proxy.wishes import Wishes
from eunoe_web.asgi import Headers


def account_headers(figures: Mapping[str, str], wishes: Wishes) -> Headers:
    """One header for each figure; numbers and fixed words, never text of a message."""
    pairs = dict(figures)
    if wishes.ignored:
        pairs["ignored"] = ", ".join(wishes.ignored)
    return [(f"x-eunoe-{name}".encode(), value.encode()) for name, value in pairs.items()]


def untouched_figures(why: str) -> dict[str, str]:
    """Of a request that goes through as it came, not looked at to the end."""
    return {"outcome": "untouched", "reason": why}


def report_figures(report: Report, *, changed: bool) -> dict[str, str]:
    """Of a request that was fitted."""
    counts = report.counts()
    cut = "none"
    if report.cut is not None:
        cut = "declared" if report.cut.declared else "held"
    pairs = {
        "outcome": "fitted" if changed else "same",
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
    pairs |= _money_figures(report.cost)
    if report.cache_lost:
        pairs["cache-lost"] = report.cache_lost
    if report.infeasible is not None:
        pairs["over-budget"] = str(report.infeasible.needed - report.infeasible.allowed)
    return pairs


def _money_figures(cost: RequestCost | None) -> dict[str, str]:
    """Dollars for the input, as estimated before the answer; none without a price."""
    if cost is None or cost.sent.usd is None:
        return {}
    dollars = {
        "cost-estimated": cost.sent.usd,
        "cost-untouched": cost.untouched.usd or 0.0,
        "cost-window": cost.window.usd or 0.0,
    }
    if cost.most_usd:
        dollars["cost-allowed"] = cost.most_usd
    return {name: f"{usd:.8f}" for name, usd in dollars.items()}


def _yes(value: bool) -> str:
    return "true" if value else "false"
