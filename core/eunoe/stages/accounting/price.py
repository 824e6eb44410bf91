"""What tokens cost: the price of a model, the cost of a request, what a sum of money buys.

Money is counted in whole picodollars (1e-12 US dollars), so that sums are exact in any order: one
dollar per million tokens is one million picodollars a token.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Protocol

from eunoe.domain.budget import Budget
from eunoe.domain.errors import SettingsError

PICODOLLARS = 10**12
_PICODOLLARS_PER_TOKEN = 10**6


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelPrice:
    """The price of a model, in US dollars per million tokens.

    Attributes:
        input: a token of the prompt that is neither read from a cache nor written to one.
        output: a token of the answer.
        cached: a token that is read from the prompt cache; None: it costs as much as ``input``.
        write: a token that is written to the prompt cache; None: it costs as much as ``input``.
        long_from: a prompt of more tokens than this is charged at ``long_input`` times the prices
            of the prompt and ``long_output`` times that of the answer; 0: one price for all.
        long_input, long_output: these factors, at least 1.
        cache_from: tokens that a prefix needs before the provider caches it; 0 if not known.

    Raises:
        SettingsError: a price is negative or not finite, or a factor is below 1.
    """

    input: float
    output: float
    cached: float | None = None
    write: float | None = None
    long_from: int = 0
    long_input: float = 2.0
    long_output: float = 1.5
    cache_from: int = 0

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            least = 1 if field.name in ("long_input", "long_output") else 0
            if value is None and field.name in ("cached", "write"):
                continue
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise SettingsError(field.name, value, "a number")
            if not (least <= value < math.inf):
                raise SettingsError(field.name, value, f"{least} or above, finite")

    def dearest_input(self, *, long: bool = False) -> float:
        """Dollars that a token of a prompt may cost at most: read anew and written to a cache."""
        price = max(self.input, self.write or 0.0)
        factor = self.long_input if long else 1.0
        return _token_picodollars(price, factor) / PICODOLLARS  # as it is charged, rounding too


class PriceLookup(Protocol):
    """**Protocol:** knows prices of models. Synchronous, never the network."""

    def get(self, model_id: str | None) -> ModelPrice | None:
        """The price, or None for a model that it does not know."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenUse:
    """The tokens of one request, or of several together.

    Attributes:
        prompt: the whole prompt, the cached part included.
        cached: of these, read from a cache.
        written: of these, written to a cache; ``cached + written <= prompt``.
        completion: tokens of the answer.

    Raises:
        SettingsError: a count is negative, or the parts exceed the prompt.
    """

    prompt: int = 0
    cached: int = 0
    written: int = 0
    completion: int = 0

    def __post_init__(self) -> None:
        if min(self.prompt, self.cached, self.written, self.completion) < 0:
            raise SettingsError("tokens", self, "0 or above")
        if self.cached + self.written > self.prompt:
            raise SettingsError("cached + written", self, "at most the prompt")

    def __add__(self, other: TokenUse) -> TokenUse:
        return TokenUse(
            prompt=self.prompt + other.prompt,
            cached=self.cached + other.cached,
            written=self.written + other.written,
            completion=self.completion + other.completion,
        )

    @classmethod
    def of(cls, prompt: int, cached: int = 0, written: int = 0, completion: int = 0) -> TokenUse:
        """The use, with counts that contradict each other brought into range."""
        prompt = max(0, prompt)
        cached = min(max(0, cached), prompt)
        return cls(
            prompt=prompt,
            cached=cached,
            written=min(max(0, written), prompt - cached),
            completion=max(0, completion),
        )


class ReportedUse(Protocol):
    """**Protocol:** what a provider reported, read; ``stages.counting.Usage`` is one."""

    @property
    def prompt(self) -> int:
        """Tokens of the prompt, the cached ones included."""
        ...

    @property
    def cached(self) -> int:
        """Of these, read from the cache."""
        ...

    @property
    def written(self) -> int:
        """Of these, written to the cache."""
        ...

    @property
    def completion(self) -> int:
        """Tokens of the answer."""
        ...


def request_cost(price: ModelPrice, use: TokenUse) -> int:
    """What one request costs, in picodollars.

    Cost is ``fresh × input + cached × cached price + written × write price + completion × output``,
    where ``fresh = prompt - cached - written``; a long prompt is charged at the long prices.

    Note:
        ``use`` must be of one request where ``price.long_from`` is set: two short prompts are not
        a long one.
    """
    long = 0 < price.long_from < use.prompt
    into, out = (price.long_input, price.long_output) if long else (1.0, 1.0)
    cached = price.input if price.cached is None else price.cached
    written = price.input if price.write is None else price.write
    return (
        (use.prompt - use.cached - use.written) * _token_picodollars(price.input, into)
        + use.cached * _token_picodollars(cached, into)
        + use.written * _token_picodollars(written, into)
        + use.completion * _token_picodollars(price.output, out)
    )


def _token_picodollars(dollars_per_million: float, factor: float) -> int:
    return round(dollars_per_million * factor * _PICODOLLARS_PER_TOKEN)


def affordable_tokens(budget: Budget, price: ModelPrice | None) -> int:
    """Input tokens that a budget allows for a model of this price; 0 for no limit.

    The dearest price counts: every token read anew, written to the cache if writing is charged,
    and the long price where the prompt would be a long one. So the cap holds whatever is cached.
    """
    if price is None:
        return budget.allowed_tokens(None)
    limit = budget.allowed_tokens(price.dearest_input())
    if not 0 < price.long_from < limit:
        return limit
    return max(price.long_from, budget.allowed_tokens(price.dearest_input(long=True)))


def depends_on_price(budget: Budget) -> bool:
    """Whether a budget has a cap on money, which no price leaves without effect."""
    without = budget.allowed_tokens(None)
    return any(budget.allowed_tokens(price) != without for price in (1.0, 1e-6))
