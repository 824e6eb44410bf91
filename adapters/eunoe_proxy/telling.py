"""One line for each chat request, for people who watch the log: figures, no text."""

from __future__ import annotations

from eunoe.domain.cost import money_text
from eunoe.stages.accounting.request_cost import cost_of_entry
from eunoe.stages.accounting.status_text import seconds_piece
from eunoe_proxy.accounts import EnteredAnswer
from eunoe_proxy.fitting import Fitted
from eunoe_proxy.passing import Passage

_LONGEST_MODEL = 60


def request_line(fitted: Fitted, passage: Passage, entered: EnteredAnswer | None = None) -> str:
    """What became of a request.

    Args:
        fitted: what was sent.
        passage: how it went.
        entered: what the answer reported; None if nothing was.
    """
    model = "".join(letter for letter in fitted.model if letter.isprintable())[:_LONGEST_MODEL]
    pieces = []
    report = fitted.report
    if report is None:
        pieces.append(f"untouched ({fitted.why})")
    elif fitted.figures.get("outcome") == "same":
        pieces.append(f"{report.tokens_after:,} tokens, as they came")
    else:
        pieces.append(f"{report.tokens_before:,} -> {report.tokens_after:,} tokens")
        if report.recalled:
            pieces.append(f"{report.recalled} recalled")
    if entered is not None and entered.cached:
        pieces.append(f"{entered.cached:,} from the cache")
        if saved := seconds_piece(entered.saved):
            pieces.append(saved)
    pieces += _money_pieces(entered)
    if report is not None and report.cache_lost:
        pieces.append(f"cache lost: {report.cache_lost}")
    ended = f"status {passage.status}" if passage.status else "no answer"
    if passage.failure:
        ended += f" ({passage.failure})"
    elif passage.left:
        ended += " (the caller left)"
    if report is not None:
        ended += f"; chosen in {fitted.seconds * 1000:.0f} ms"
    return f"{model or 'no model'}: {', '.join(pieces)}; {ended}"


def _money_pieces(entered: EnteredAnswer | None) -> list[str]:
    """What it cost, answer included, or what its input is estimated to cost without a report."""
    billed = cost_of_entry(entered.ledger) if entered is not None and entered.ledger else None
    if billed is None or billed.sent.usd is None:
        return []
    return [f"{'' if billed.measured else '≈'}{money_text(billed.sent.usd)}"]
