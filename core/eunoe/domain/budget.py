"""How much may be sent: tokens, a token target, money, or several at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from eunoe.domain.checking import require_members, require_number, require_whole
from eunoe.domain.errors import SettingsError

UNLIMITED = 0
LEAST_CACHED_TOKENS = 1024
"""No provider caches a shorter prompt. Source: Prompt caching, in the docs of both makers."""


_MOST_BOUGHT = 2**53
"""What money buys at most: no float counts further one by one."""
_WHOLE_TOKENS = "a whole number of tokens, 0 (no limit) or above"
_SHARE = "above 0, at most 1"
_ANY_BUDGET = "a TokenBudget, TokenTargetBudget, CostBudget or CompositeBudget"


def require_budget(name: str, value: object) -> None:
    """Refuse what is no budget, such as a bare number.

    Raises:
        SettingsError: it is refused.
    """
    require_members(name, value, ("allowed_tokens",), _ANY_BUDGET)


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
        require_whole("max_tokens", self.max_tokens, _WHOLE_TOKENS)

    @classmethod
    def of_window(
        cls, context_tokens: int, *, ratio: float = 0.55, framing: int = 150
    ) -> TokenBudget:
        """The budget that a share of a model's window leaves: ``int(window * ratio) - framing``.

        At least 1; no limit where the window is not known, which is 0.

        Source: Lethe, "Token Budget": 49,152 tokens at 0.55 less 150 are 26,883.

        Raises:
            SettingsError: the ratio is not in (0, 1], or a number of tokens is no whole number.
        """
        require_whole("context_tokens", context_tokens, _WHOLE_TOKENS)
        require_whole("framing", framing, "a whole number of tokens, 0 or above")
        require_number("ratio", ratio, _SHARE)
        if not 0 < ratio <= 1:
            raise SettingsError("ratio", ratio, _SHARE)
        if not context_tokens:
            return cls(UNLIMITED)
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
        require_whole("target_tokens", self.target_tokens, _WHOLE_TOKENS)
        require_whole("overshoot", self.overshoot, _WHOLE_TOKENS)

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
            require_number(name, getattr(self, name), "dollars, 0 or above, finite")

    def allowed_tokens(self, price_per_token: float | None) -> int:
        """What the money buys at the full input price; no limit where no price is known."""
        price = self.price_per_token or price_per_token or 0.0
        if not self.max_cost_usd or not price:
            return UNLIMITED
        bought = min(self.max_cost_usd / price, _MOST_BOUGHT)
        return max(1, int(bought + 1e-6))  # 3999.9999999999995 are 4000


@dataclass(frozen=True, slots=True)
class CompositeBudget:
    """Several budgets at once: the tightest counts."""

    token_budget: TokenBudget | TokenTargetBudget
    cost_budget: CostBudget | None = None

    def __post_init__(self) -> None:
        require_budget("token_budget", self.token_budget)
        if self.cost_budget is not None:
            require_budget("cost_budget", self.cost_budget)

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


def token_part(budget: Budget) -> Budget:
    """What a budget allows whatever tokens cost."""
    if isinstance(budget, CompositeBudget):
        return budget.token_budget
    return TokenBudget(UNLIMITED) if isinstance(budget, CostBudget) else budget


def money_part(budget: Budget) -> Budget:
    """The cap on money in a budget, if it has one."""
    if isinstance(budget, CompositeBudget) and budget.cost_budget is not None:
        return budget.cost_budget
    return budget


def most_dollars(budget: Budget) -> float:
    """Dollars to which a budget caps the input of a request; 0 where it does not say."""
    part = money_part(budget)
    return part.max_cost_usd if isinstance(part, CostBudget) else 0.0
