"""Entering requests into a ledger: what was reported, or what is to be expected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from eunoe.stages.accounting.forecast import PromptForecast, RequestForecast
from eunoe.stages.accounting.ledger import Account, Ledger, Tally
from eunoe.stages.accounting.price import ModelPrice, ReportedUse, TokenUse

# A report this far from our count, as a factor, is not about the same prompt.
_LEAST_SCALE, _MOST_SCALE = 0.25, 4.0


def account_requests(
    forecasts: Sequence[RequestForecast],
    price: ModelPrice | None,
    *,
    reported: ReportedUse | None = None,
    caching: bool = True,
    hit_share: float = 1.0,
) -> Ledger:
    """Enter one request, or the requests of one turn whose usage is reported as a sum.

    Args:
        forecasts: one for each request, in order.
        price: of the model; None: only tokens are counted.
        reported: what the provider reported for all of them together; None if nothing.
        caching: whether the provider is known to cache; a report that shows neither reading nor
            writing, where writing is charged, says that it does not.
        hit_share: part of a repeated prefix that the cache of this model gives back, in [0, 1], as
            ``CacheRecord.share`` has learnt it; for what is estimated.

    Returns:
        Their ledger. With a report, what was sent is the report, and the two other ways are scaled
        by how far our count was off and get the same answer; without, all of it is estimated.
    """
    if not forecasts:
        return Ledger()
    counted = sum(f.sent.prompt for f in forecasts)
    scale = 1.0
    if reported is not None and counted > 0 and reported.prompt > 0:
        ratio = reported.prompt / counted
        scale = ratio if _LEAST_SCALE <= ratio <= _MOST_SCALE else 1.0
        charged = price is not None and price.write is not None
        if charged and not (reported.cached or reported.written):
            caching = False
    answer = 0 if reported is None else reported.completion
    if reported is None:
        uses = [f.sent.use(price, caching=caching, hit_share=hit_share) for f in forecasts]
    else:
        uses = _shared_report(reported, [f.sent.prompt for f in forecasts])
    sent = _tally(uses, price)

    def expected(prompt: PromptForecast) -> TokenUse:
        return prompt.use(price, caching=caching, scale=scale, hit_share=hit_share)

    # The list that goes out whole is the untouched chat itself: what is known of one is of both.
    same = [f.sent.prompt == f.untouched.prompt for f in forecasts]
    untouched = [
        replace(use, completion=0) if is_same else expected(f.untouched)
        for f, use, is_same in zip(forecasts, uses, same, strict=True)
    ]
    window = [
        use if is_same and f.window.prompt == f.sent.prompt else expected(f.window)
        for f, use, is_same in zip(forecasts, untouched, same, strict=True)
    ]
    account = Account(
        sent=sent,
        untouched=_tally(_with_answer(untouched, answer), price),
        window=_tally(_with_answer(window, answer), price),
        untouched_over=sum(not f.untouched_fits for f in forecasts),
    )
    return Ledger(estimated=account) if reported is None else Ledger(measured=account)


def _tally(uses: Sequence[TokenUse], price: ModelPrice | None) -> Tally:
    total = Tally()
    for use in uses:
        total = total + Tally.of(use, price)
    return total


def _with_answer(uses: Sequence[TokenUse], answer: int) -> list[TokenUse]:
    last = TokenUse(completion=answer)
    return [use + last if k == len(uses) - 1 else use for k, use in enumerate(uses)]


def _shared_report(reported: ReportedUse, weights: Sequence[int]) -> list[TokenUse]:
    """A summed report, shared out over its requests by their counted size; sums stay exact.

    The shares matter only where a long prompt has another price.
    """
    total = sum(weights) or len(weights)
    parts: list[TokenUse] = []
    done, gone = 0, TokenUse()
    whole = TokenUse.of(reported.prompt, reported.cached, reported.written, reported.completion)
    for weight in weights:
        done += weight if sum(weights) else 1
        upto = [
            n * done // total
            for n in (
                whole.cached,
                whole.written,
                whole.prompt - whole.cached - whole.written,
                whole.completion,
            )
        ]
        reached = TokenUse(
            prompt=upto[0] + upto[1] + upto[2], cached=upto[0], written=upto[1], completion=upto[3]
        )
        parts.append(
            TokenUse(
                prompt=reached.prompt - gone.prompt,
                cached=reached.cached - gone.cached,
                written=reached.written - gone.written,
                completion=reached.completion - gone.completion,
            )
        )
        gone = reached
    return parts
