"""What a request costs, beside two other ways to send it: tokens, and dollars.

A price is never made up: where it is not known there are tokens alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import floor, log10

_SMALLEST_MONEY = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class WayCost:
    """One way to send a request.

    Attributes:
        prompt: tokens of the prompt, the cached ones included.
        cached: of these, read from the provider's prompt cache.
        usd: US dollars; None where the model's price is not known.
    """

    prompt: int
    cached: int = 0
    usd: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestCost:
    """A request, and what two other ways would have cost for the same turn.

    Attributes:
        sent: the list that goes out; its input alone until the provider has reported, which tells
            the answer's share, too.
        untouched: the whole chat; always an estimate.
        window: the newest turns that fit the same room, chosen anew at each request; always an
            estimate.
        measured: ``sent`` is what the provider reported; else it is an estimate like the others.
        untouched_fits: whether the whole chat is within the limit of the request.
        most_usd: dollars that the input may cost; 0 without such a cap, or where the model's price
            is not known, so that it sets no limit.
    """

    sent: WayCost
    untouched: WayCost
    window: WayCost
    measured: bool = False
    untouched_fits: bool = True
    most_usd: float = 0.0

    def describe(self) -> str:
        """One line for people; what is estimated has a ``≈`` before its number."""
        about = "" if self.measured else "≈"
        cached = f", {about}{self.sent.cached:,} of them from the cache" if self.sent.cached else ""
        over = "" if self.untouched_fits else " (over the limit)"
        if self.sent.usd is None:
            return (
                f"no price known: {about}{self.sent.prompt:,} tokens{cached}; "
                f"untouched ≈{self.untouched.prompt:,}{over}, plain window ≈{self.window.prompt:,}"
            )
        most = f" of {money_text(self.most_usd)} allowed" if self.most_usd else ""
        whole, window = (money_text(way.usd or 0.0) for way in (self.untouched, self.window))
        return (
            f"{about}{money_text(self.sent.usd)}{most} for {about}{self.sent.prompt:,} tokens"
            f"{' and the answer' if self.measured else ''}{cached}; "
            f"untouched ≈{whole}{over}, plain window ≈{window}"
        )


class CostAccount:
    """A ``RequestCost`` that is worked out when it is looked at, once; most are never looked at.

    Pickled or copied it is a value.

    Args:
        make: works it out; called at most once for each thread that looks first.
    """

    __slots__ = ("_cost", "_make")

    def __init__(self, make: Callable[[], RequestCost | None]) -> None:
        self._make: Callable[[], RequestCost | None] | None = make
        self._cost: RequestCost | None = None

    @classmethod
    def of(cls, cost: RequestCost | None) -> CostAccount:
        """What is known already."""
        account = cls(_nothing_known)
        account._cost, account._make = cost, None
        return account

    @property
    def cost(self) -> RequestCost | None:
        """The cost; None where nothing was sent or nobody counted."""
        make = self._make
        if make is not None:
            self._cost = make()
            self._make = None  # what it needed may go
        return self._cost

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CostAccount) and self.cost == other.cost

    def __hash__(self) -> int:
        return hash(self.cost)

    def __reduce__(self) -> tuple[Callable[[RequestCost | None], CostAccount], tuple[object]]:
        return CostAccount.of, (self.cost,)


def _nothing_known() -> None:
    return None


NO_COST = CostAccount.of(None)


def money_text(dollars: float) -> str:
    """Dollars in few characters: $312, $1.24, $0.500, $0.011, $0.00042; ``<$0.000001`` below that.

    Below ten cents two digits count.
    """
    if dollars < 0:
        return f"-{money_text(-dollars)}"
    if dollars >= 100:
        return f"${dollars:,.0f}"
    if dollars >= 1:
        return f"${dollars:.2f}"
    if dollars == 0:
        return "$0"
    if dollars < _SMALLEST_MONEY:
        return f"<${_SMALLEST_MONEY:.6f}"
    return f"${dollars:.{max(3, 1 - floor(log10(dollars)))}f}"
