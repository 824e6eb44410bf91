"""Does a cut pay? What keeping a window costs, what cutting it costs, and where the two meet.

All costs are in units of one plain input token. A cached token costs ``c``, a token that is read
anew costs ``w`` (1, or the price of writing to the cache where that is charged).

A view of ``W`` tokens, of which the head ``H`` (system, tools) never changes, grows by ``d`` tokens
a turn. Request ``i`` of ``k`` re-reads what the one before it held and adds ``d`` new tokens:

    keep(k) = sum over i = 1..k of  c (W + (i-1) d) + w d
            = k c W + c d k (k-1) / 2 + k w d

Cut to ``L`` before the first of them, the head comes from the cache, the ``L - H`` tokens that stay
have moved and are read anew; after that the smaller view grows in the same way:

    cut(k)  = c H + w (L - H) + w d  +  sum over i = 2..k of  c (L + (i-1) d) + w d
            = c H + w (L - H) + (k-1) c L + c d k (k-1) / 2 + k w d

    keep(k) - cut(k) = k c (W - L) - (w - c) (L - H)

The growth ``d`` cancels: a cut pays after ``k* = (w - c) (L - H) / (c (W - L))`` requests. With a
cache at a tenth and ``L = 0.4 W``, that is 6; without a cache price (``c = w``) it pays at once;
with a free cache it never does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from eunoe.domain.errors import SettingsError
from eunoe.stages.accounting.price import ModelPrice


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceRatios:
    """Prices as multiples of a plain input token.

    Attributes:
        cached: of a token from the cache, in [0, 1].
        fresh: of a token that is read anew, 1 or above where writing to the cache is charged.

    Raises:
        SettingsError: a ratio is out of its range.
    """

    cached: float = 1.0
    fresh: float = 1.0

    def __post_init__(self) -> None:
        if not 0 <= self.cached <= 1:
            raise SettingsError("cached", self.cached, "from 0 to 1")
        if not self.cached <= self.fresh < math.inf:
            raise SettingsError("fresh", self.fresh, "at least the cached price, finite")

    @classmethod
    def of(cls, price: ModelPrice) -> PriceRatios:
        """The ratios of a model; all 1 where nothing is charged."""
        if not price.input:
            return cls()
        cached = 1.0 if price.cached is None else min(1.0, price.cached / price.input)
        fresh = 1.0 if price.write is None else max(cached, price.write / price.input)
        return cls(cached=cached, fresh=fresh)


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowShape:
    """A window that could be cut.

    Attributes:
        tokens: of the view as it stands, ``W``.
        head: of these, the part that never changes, ``H``.
        new: tokens that each request adds, ``d``.
    """

    tokens: int
    head: int = 0
    new: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.head <= self.tokens or self.new < 0:
            raise SettingsError("window", self, "0 <= head <= tokens, new 0 or above")


def cost_of_keeping(ratios: PriceRatios, window: WindowShape, requests: int) -> float:
    """What the next requests cost if nothing is cut, in plain input tokens: ``keep(k)``."""
    k, c, d = requests, ratios.cached, window.new
    return k * c * window.tokens + c * d * k * (k - 1) / 2 + k * ratios.fresh * d


def cost_of_cutting(ratios: PriceRatios, window: WindowShape, low: int, requests: int) -> float:
    """What they cost if the window is cut to ``low`` tokens before the first: ``cut(k)``.

    Raises:
        SettingsError: ``low`` is below the head or above the window.
    """
    _require_low(window, low)
    k, c, w, d = requests, ratios.cached, ratios.fresh, window.new
    if k <= 0:
        return 0.0
    first = c * window.head + w * (low - window.head)
    return first + (k - 1) * c * low + c * d * k * (k - 1) / 2 + k * w * d


def break_even_requests(ratios: PriceRatios, window: WindowShape, low: int) -> float:
    """Requests after which a cut to ``low`` has paid for itself, ``k*``; infinite if never.

    Raises:
        SettingsError: ``low`` is below the head or above the window.
    """
    _require_low(window, low)
    surcharge = (ratios.fresh - ratios.cached) * (low - window.head)
    saving = ratios.cached * (window.tokens - low)
    if surcharge <= 0:
        return 0.0 if saving > 0 else math.inf
    return surcharge / saving if saving > 0 else math.inf


def _require_low(window: WindowShape, low: int) -> None:
    if not window.head <= low <= window.tokens:
        raise SettingsError("low", low, f"from {window.head} to {window.tokens}")
