"""How much of a request repeats the one before it: what a provider has in its prompt cache."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from eunoe import ModelPrice, OrchestratorResult
    from eunoe_cli.ruler import Ruler

_USUAL_CACHED_PRICE = 0.1
"""Of a cached token beside a new one, where no model is named."""


def point_before(points: Sequence[int], moment: int) -> int | None:
    """The request before the one with so many messages; None if there is none."""
    return max((point for point in points if point < moment), default=None)


def repeats_line(
    before: OrchestratorResult | None,
    now: OrchestratorResult,
    ruler: Ruler,
    *,
    added: Sequence[Mapping[str, Any]] = (),
    price: ModelPrice | None = None,
) -> str:
    """One line on what two requests in a row have in common; empty for a first request.

    Args:
        before: the first of them.
        now: the second.
        ruler: measures both.
        added: the messages that came between them.
        price: of the model; says when a cut pays.
    """
    if before is None:
        return ""
    from eunoe_cli.ruler import same_at_start

    old, new = (r.conversation.to_openai_messages() for r in (before, now))
    same = same_at_start(old, new)
    repeated = ruler.tokens_at_start(new, same) if same else 0
    line = f"repeats {repeated:,} tokens of the request before, from the start on"
    cut = now.report.cut
    if cut is None or not cut.declared:
        return line
    kept_whole = ruler.total([*old, *added])
    return f"{line}; then comes a cut{_pays(kept_whole, ruler.total(new), repeated, price)}"


def _pays(whole: int, left: int, repeated: int, price: ModelPrice | None) -> str:
    """When a cut from ``whole`` tokens to ``left`` has paid for what is read anew."""
    from eunoe.stages.accounting import PriceRatios, WindowShape, break_even_requests

    ratios = PriceRatios.of(price) if price else PriceRatios(cached=_USUAL_CACHED_PRICE)
    if not repeated <= left < whole:
        return ""
    requests = break_even_requests(ratios, WindowShape(tokens=whole, head=repeated), left)
    if not math.isfinite(requests):
        return ", which never pays where cached tokens cost nothing"
    price_line = f"a cached token at {ratios.cached:.2g} of a new one"
    return f", which pays after {math.ceil(requests):,} requests ({price_line})"
