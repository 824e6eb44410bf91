"""How much may be sent: tokens, a token target, money, or several at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from eunoe.domain.errors import SettingsError

UNLIMITED = 0


def _require_whole_tokens(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise SettingsError(name, value, "a whole number of tokens, 0 (no limit) or above")


class Budget(Protocol):
    """**Protocol:** anything that says how many input tokens are allowed."""

    def allowed_tokens(self, price_per_token: float | None) -> int:
        """Input tokens allowed, 0 for no limit; the price is of one input token, if known."""
        ...


@dataclass(frozen=True, slots=True)
class TokenBudget:
    """A hard cap on the tokens of a request, tools and framing included.

    Attributes:
        max_tokens: 0 means no limit.

    Raises:
        SettingsError: ``max_tokens`` is negative or no whole number.
    """

    max_tokens: int = UNLIMITED

    def __post_init__(self) -> None:
        _require_whole_tokens("max_tokens", self.max_tokens)

    @classmethod
    def of_window(
        cls, context_tokens: int, *, ratio: float = 0.55, framing: int = 150
    ) -> TokenBudget:
        """The budget that a share of a model's window leaves: ``int(window * ratio) - framing``.

        Source: Lethe, "Token Budget": 49,152 tokens at 0.55 less 150 are 26,883.

        Raises:
            SettingsError: the ratio is not in (0, 1].
        """
        if not 0 < ratio <= 1:
            raise SettingsError("context_ratio", ratio, "above 0, at most 1")
        return cls(max(1, int(context_tokens * ratio) - framing))

    def allowed_tokens(self, price_per_token: float | None) -> int:
        """The cap; money plays no part."""
        return self.max_tokens


@dataclass(frozen=True, slots=True)
class TokenTargetBudget:
    """Aim for a number of tokens, and go over it by at most ``overshoot``."""

    target_tokens: int
    overshoot: int = 150

    def __post_init__(self) -> None:
        _require_whole_tokens("target_tokens", self.target_tokens)
        _require_whole_tokens("overshoot", self.overshoot)

    def allowed_tokens(self, price_per_token: float | None) -> int:
        """Target and overshoot; 0 stays no limit."""
        return self.target_tokens + self.overshoot if self.target_tokens else UNLIMITED


@dataclass(frozen=True, slots=True)
class CostBudget:
    """A cap on the price of a request's input, in US dollars; 0 means no limit.

    Attributes:
        max_cost_usd: dollars for the input of one request.
        price_per_token: dollars a token; 0 takes the price of the model, where it is known.
    """

    max_cost_usd: float = 0.0
    price_per_token: float = 0.0

    def __post_init__(self) -> None:
        for name in ("max_cost_usd", "price_per_token"):
            value = getattr(self, name)
            if not 0 <= value < float("inf"):
                raise SettingsError(name, value, "dollars, 0 or above, finite")

    def allowed_tokens(self, price_per_token: float | None) -> int:
        """What the money buys at the full input price; no limit where no price is known."""
        price = self.price_per_token or price_per_token or 0.0
        if not self.max_cost_usd or not price:
            return UNLIMITED
        return max(1, int(self.max_cost_usd / price + 1e-6))  # 3999.9999999999995 are 4000


@dataclass(frozen=True, slots=True)
class CompositeBudget:
    """Several budgets at once: the tightest counts."""

    token_budget: TokenBudget | TokenTargetBudget
    cost_budget: CostBudget | None = None

    @classmethod
    def unlimited(cls) -> CompositeBudget:
        """Everything passes."""
        return cls(TokenBudget(UNLIMITED))

    def allowed_tokens(self, price_per_token: float | None) -> int:
        """The smallest of the limits that are set."""
        limits = [self.token_budget.allowed_tokens(price_per_token)]
        if self.cost_budget is not None:
            limits.append(self.cost_budget.allowed_tokens(price_per_token))
        return min((x for x in limits if x), default=UNLIMITED)
