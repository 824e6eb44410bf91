"""From forecasts and reports to what the status line says of tokens and money."""

from __future__ import annotations

from collections.abc import Sequence

from eunoe.domain.budget import CompositeBudget, CostBudget, TokenBudget
from eunoe.domain.cost import money_text
from eunoe.pipeline.accounts.usage_book import MeasuredTurn
from eunoe.stages.accounting.ledger import Ledger
from eunoe.stages.accounting.price import PriceLookup
from eunoe.stages.accounting.priced_limit import PricedLimit, allowed_by_price
from eunoe.stages.accounting.status_text import (
    STATUS_SEPARATOR,
    accounting_line,
    sent_piece,
    token_text,
)


def allowed_with_money(
    tokens: int, max_cost_usd: float, prices: PriceLookup, model_id: str
) -> PricedLimit:
    """What a request may take: so many tokens, and no more than the money buys.

    Args:
        tokens: allowed by the other valves.
        max_cost_usd: for the input of a request; 0 for no cap.
        prices: of models.
        model_id: name under which the model has a price; empty for one that costs nothing.
    """
    cost = CostBudget(max_cost_usd if model_id else 0.0)
    budget = CompositeBudget(TokenBudget(tokens), cost)
    return allowed_by_price(budget, prices, model_id or None)


def money_line(
    entry: Ledger,
    chat: Ledger,
    *,
    allowed: int,
    recalled: int,
    turn: MeasuredTurn | None = None,
) -> str:
    """``sent 7.9k of 8k · 6.1k from cache · 3 recalled · saved ≈$0.011 so far``.

    Args:
        entry: of the request, or of the whole turn once it is reported.
        chat: of the chat so far, the entry included.
        allowed: tokens that a request may take.
        recalled: messages that came back.
        turn: the report; a tool loop is told as its newest request and the sum of all, a cache that
            gave far less than it owed with both numbers.
    """
    line = accounting_line(
        entry,
        allowed=allowed,
        recalled=recalled,
        chat=chat,
        expected=turn.owed if turn is not None else 0,
        seconds=turn.seconds if turn is not None else 0.0,
    )
    if turn is None or turn.charged <= turn.prompt:
        return line
    newest = f"sent {token_text(turn.prompt)} of {token_text(allowed)}"
    steps = f"{newest}{STATUS_SEPARATOR}{token_text(turn.charged)} in all steps"
    return line.replace(sent_piece(entry, allowed=allowed), steps, 1)


def money_account(chat: Ledger) -> Sequence[str]:
    """A chat's ledger as lines for people: what was sent, and what two other ways would have."""
    total = chat.total
    if not total.sent.requests:
        return ()
    about = "" if chat.is_measured else "≈"
    sent = token_text(total.sent.prompt)
    cached = token_text(total.sent.cached) if total.sent.cached else ""
    number = total.sent.requests
    first = f"this chat so far: {number} {'request' if number == 1 else 'requests'}, "
    first += f"{about}{sent} tokens sent" + (f", {about}{cached} from the cache" if cached else "")
    if total.sent.unpriced:
        return (first, "the price of the model is not known")
    ways = (("untouched", total.untouched), ("plain window", total.window))
    others = ", ".join(f"{name} ≈{money_text(tally.cost_usd)}" for name, tally in ways)
    return (first, f"it cost {about}{money_text(total.sent.cost_usd)}; {others}")
