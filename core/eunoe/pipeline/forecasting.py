"""What a request will take, beside what an untouched chat and a plain window would have taken."""

from __future__ import annotations

from eunoe.domain.report import Report
from eunoe.pipeline.request import LIST_TOKENS, Request
from eunoe.stages.accounting.forecast import RequestForecast, forecast_request


def forecast_of(request: Request, report: Report) -> RequestForecast:
    """The forecast of a request whose list is decided; for the ledger, and for it alone."""
    cut = report.cut
    return forecast_request(
        request.timeline,
        stop=len(request.entries),
        sent=report.tokens_after,
        overhead=report.tool_tokens + LIST_TOKENS,
        room=None if request.allowed is None else max(0, request.allowed - LIST_TOKENS),
        start=cut.index if cut is not None else 0,
        fresh_cut=cut is not None and cut.declared,
    )
