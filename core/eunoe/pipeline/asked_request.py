"""What a caller asks of a request, beside the chat."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from eunoe.domain.ports import TokenCounter
from eunoe.domain.profile import ProviderProfile
from eunoe.stages.accounting.priced_limit import PricedLimit


def no_mark(stage: str) -> None:
    """Where nobody observes."""


def never_expired() -> bool:
    """Where a request may take its time."""
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedRequest:
    """What a caller asks of a request, beside the chat.

    Attributes:
        policy: that chooses.
        profile: whose rules the list must pass.
        counter: counts tokens.
        limit: tokens allowed in all, as the provider counts them; 0 for no limit.
        priced: the same by the operator's budget, and what money has to do with it.
        tool_tokens: of these, the tools' schemas, by our count.
        reserve: of these, left for the answer.
        factor: provider's tokens for each that we count.
        chat: whose labels count that were made ahead; empty for none.
        expired: whether the time for scoring is over.
        notes: for the report's warnings.
        mark: told when a stage has ended, for an observer.
    """

    policy: str
    profile: ProviderProfile
    counter: TokenCounter
    limit: int
    priced: PricedLimit
    tool_tokens: int
    reserve: int
    chat: str
    expired: Callable[[], bool]
    factor: float = 1.0
    notes: tuple[str, ...] = ()
    mark: Callable[[str], None] = no_mark

    @property
    def most_usd(self) -> float:
        """Dollars that the input may cost, where money is what sets the limit; else 0."""
        money = self.priced.money
        return self.priced.usd if money and self.limit == money else 0.0

    @property
    def room(self) -> int | None:
        """Tokens for messages and list framing, by our count; None without a limit."""
        if not self.limit:
            return None
        return max(0, math.floor((self.limit - self.reserve) / self.factor) - self.tool_tokens)

    def in_all(self, tokens: int) -> int:
        """Tokens of messages as the provider counts all of the request, the answer's included."""
        return math.ceil((tokens + self.tool_tokens) * self.factor) + self.reserve
