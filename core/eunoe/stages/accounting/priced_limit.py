"""What a budget allows for a model, where money is a part of it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from eunoe.domain.budget import Budget, money_part, most_dollars, token_part
from eunoe.domain.errors import BudgetError
from eunoe.stages.accounting.price import PriceLookup, affordable_tokens, depends_on_price


@dataclass(frozen=True, slots=True, kw_only=True)
class PricedLimit:
    """What a budget allows for a model.

    Attributes:
        tokens: in all, the room for the answer included; 0 for no limit.
        money: tokens to which money caps it, the room for the answer included, which flags cannot
            raise; 0 where money sets no limit.
        usd: dollars that the input may cost; 0 where money sets no limit, or by a price that the
            budget itself names.
        prices, model_id: whose price counts.
        notes: what to warn of.
    """

    tokens: int
    money: int = 0
    usd: float = 0.0
    prices: PriceLookup
    model_id: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def binding_usd(self) -> float:
        """Dollars that the input may cost, where that is what sets the limit; else 0."""
        return self.usd if self.money and self.tokens == self.money else 0.0

    def refusal(self, error: BudgetError) -> BudgetError:
        """The error of a pipeline that was given the tokens alone, with what money says of them."""
        return BudgetError(error.needed, error.allowed, error.reserve, self.binding_usd)


def allowed_by_price(
    budget: Budget, prices: PriceLookup, model_id: str | None, *, reserve: int = 0
) -> PricedLimit:
    """Tokens that a budget allows for a model.

    Args:
        reserve: tokens that are left for the answer, of what the budget allows in tokens; a cap on
            money is one on the input alone.
    """
    tokens = token_part(budget).allowed_tokens(None)
    limit = PricedLimit(tokens=tokens, prices=prices, model_id=model_id)
    priced, usd = depends_on_price(budget), most_dollars(budget)
    if not priced and not usd:
        return limit
    price = prices.get(model_id) if priced else None
    if priced and price is None:
        name = model_id or "no model"
        return replace(limit, notes=(f"the price of {name} is not known: money sets no limit",))
    part = money_part(budget)
    if part is budget:
        tokens = 0  # it is no cap on tokens beside, whatever it allows where no price is known
    bought = affordable_tokens(part, price)
    money = bought + reserve if bought else 0
    return replace(
        limit,
        tokens=min(tokens, money) if tokens and money else tokens or money,
        money=money,
        usd=usd if priced and money else 0.0,
    )
