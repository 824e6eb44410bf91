"""Prices as LangChain's users give them; what money leaves of a plan, and what the plan costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from langchain_core.messages import BaseMessage

from eunoe import (
    CompositeBudget,
    CostBudget,
    OrchestratorResult,
    Report,
    SettingsError,
    TokenBudget,
)
from eunoe.stages.accounting.forecast import RequestForecast
from eunoe.stages.accounting.list_prices import list_prices
from eunoe.stages.accounting.price import PriceLookup
from eunoe.stages.accounting.price_table import ModelPricingTable
from eunoe.stages.accounting.priced_limit import PricedLimit, allowed_by_price
from eunoe.stages.accounting.request_cost import estimated_cost
from eunoe_backends.price_sources import find_prices
from eunoe_langchain.providers import answered_by


@dataclass(frozen=True)
class PlanMoney:
    """What a plan knows of money.

    Attributes:
        prices: of models.
        max_cost_usd: dollars that the input of a request may cost; 0 for no cap.
    """

    prices: PriceLookup = field(default_factory=list_prices)
    max_cost_usd: float = 0.0

    def limit(self, max_tokens: int, reserve: int, priced_id: str | None) -> PricedLimit:
        """Tokens that both caps leave."""
        budget = CompositeBudget(TokenBudget(max_tokens), CostBudget(self.max_cost_usd))
        return allowed_by_price(budget, self.prices, priced_id, reserve=reserve)


def as_prices(value: Any) -> PriceLookup:
    """What knows prices, from every form that ``HistoryOptimizer(prices=...)`` takes.

    Args:
        value: None for list prices; a mapping or the path of a JSON file, as of
            ``ModelPricingTable.from_dict``, over the list prices; or what knows prices by itself,
            in their place: a ``ModelPricingTable``, a ``CurrentPrices``.

    Raises:
        SettingsError: it is none of these, or holds no prices.
    """
    if value is None:
        return list_prices()
    if isinstance(value, Mapping):
        return list_prices().merged(ModelPricingTable.from_dict(value))
    if isinstance(value, (str, Path)):
        return find_prices(own_file=value)
    if isinstance(value, type) or not callable(getattr(value, "get", None)):
        allowed = "a mapping of prices, the path of a JSON file, a table of prices, or None"
        raise SettingsError("prices", value, allowed)
    found: PriceLookup = value
    return found


def priced_name(
    messages: Sequence[BaseMessage],
    *,
    model_id: str | None,
    model_hint: str | None,
    provider: str | None,
) -> str | None:
    """The name under which the next model has a price; None where nothing tells.

    A model that a host names, or an earlier answer, is named with its provider: what its maker
    charges says nothing of one that runs on Ollama or at a host with prices of its own.

    Args:
        messages: the history.
        model_id: the model as the user named it; it wins.
        model_hint, provider: the model that comes next, if a host knows it.
    """
    if model_id:
        return model_id
    name, maker = (model_hint, provider) if model_hint else answered_by(messages)
    return f"{maker.lower()}/{name}" if name and maker else name


def forecast_of_plan(result: OrchestratorResult, tokens_after: int) -> RequestForecast:
    """The forecast with the tokens that the report tells, which a caller's counter may count."""
    return result.forecast.with_sent(tokens_after)


def priced_report(report: Report, result: OrchestratorResult, limit: PricedLimit) -> Report:
    """The report with what the plan costs.

    Args:
        report: of the plan, as the caller's counter has it.
        result: of the plan.
        limit: what both caps left.
    """
    foresee = partial(forecast_of_plan, result, report.tokens_after)
    costing = estimated_cost(foresee, limit.prices, limit.model_id, most_usd=limit.usd)
    return replace(report, costing=costing, warnings=(*report.warnings, *limit.notes))
