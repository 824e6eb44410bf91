"""The account of a chat, or of many: tokens, money, and what two other ways would have cost.

Figures that a provider reported and figures that are estimated are kept apart. Sums are of whole
numbers, so ledgers add up to the same in any order, on any worker.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from eunoe.stages.accounting.price import (
    PICODOLLARS,
    ModelPrice,
    TokenUse,
    request_cost,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Sums over requests.

    Attributes:
        requests: how many.
        prompt: tokens sent, the cached part included.
        cached: of these, read from the cache.
        written: of these, written to the cache.
        completion: tokens of the answers.
        cost: picodollars (1e-12 US dollars) of the requests whose price is known.
        unpriced: requests whose price is not known.
    """

    requests: int = 0
    prompt: int = 0
    cached: int = 0
    written: int = 0
    completion: int = 0
    cost: int = 0
    unpriced: int = 0

    def __add__(self, other: Tally) -> Tally:
        return Tally(**{n: getattr(self, n) + getattr(other, n) for n in _TALLY_FIELDS})

    @property
    def cost_usd(self) -> float:
        """US dollars of the requests whose price is known."""
        return self.cost / PICODOLLARS

    @classmethod
    def of(cls, use: TokenUse, price: ModelPrice | None) -> Tally:
        """One request."""
        return cls(
            requests=1,
            prompt=use.prompt,
            cached=use.cached,
            written=use.written,
            completion=use.completion,
            cost=0 if price is None else request_cost(price, use),
            unpriced=int(price is None),
        )


_TALLY_FIELDS = tuple(f.name for f in fields(Tally))


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """What was sent, and what two other ways would have sent for the same requests.

    Attributes:
        sent: reported by the provider in ``Ledger.measured``, estimated in ``Ledger.estimated``.
        untouched: the whole chat each time; always simulated.
        window: the newest turns that fit; always simulated.
        untouched_over: requests whose whole chat was larger than their limit.
    """

    sent: Tally = field(default_factory=Tally)
    untouched: Tally = field(default_factory=Tally)
    window: Tally = field(default_factory=Tally)
    untouched_over: int = 0

    def __add__(self, other: Account) -> Account:
        return Account(
            sent=self.sent + other.sent,
            untouched=self.untouched + other.untouched,
            window=self.window + other.window,
            untouched_over=self.untouched_over + other.untouched_over,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """The account of any number of requests.

    Attributes:
        measured: requests whose usage was reported.
        estimated: requests without a report.
    """

    measured: Account = field(default_factory=Account)
    estimated: Account = field(default_factory=Account)

    def __add__(self, other: Ledger) -> Ledger:
        return Ledger(
            measured=self.measured + other.measured, estimated=self.estimated + other.estimated
        )

    @property
    def total(self) -> Account:
        """Measured and estimated figures together."""
        return self.measured + self.estimated

    @property
    def is_measured(self) -> bool:
        """Every request was reported."""
        return not self.estimated.sent.requests and bool(self.measured.sent.requests)

    @property
    def saved_usd(self) -> float:
        """US dollars less than an untouched chat would have cost; below 0 if more. An estimate."""
        total = self.total
        return (total.untouched.cost - total.sent.cost) / PICODOLLARS

    @classmethod
    def merge(cls, ledgers: Sequence[Ledger]) -> Ledger:
        """The sum of any number of ledgers."""
        total = cls()
        for ledger in ledgers:
            total = total + ledger
        return total

    def flat(self) -> dict[str, int]:
        """Every figure that is not 0 under a flat name, such as ``measured.sent.prompt``."""
        found: dict[str, int] = {}
        for kind, account in (("measured", self.measured), ("estimated", self.estimated)):
            for way in ("sent", "untouched", "window"):
                tally = getattr(account, way)
                for name in _TALLY_FIELDS:
                    found[f"{kind}.{way}.{name}"] = getattr(tally, name)
            found[f"{kind}.untouched_over"] = account.untouched_over
        return {name: value for name, value in found.items() if value}

    @classmethod
    def from_flat(cls, figures: Mapping[str, Any]) -> Ledger:
        """Read what ``flat`` wrote; unknown names and what is no whole number are left out."""
        sound = {str(k): n for k, v in figures.items() if (n := _whole_figure(v)) is not None}

        def account(kind: str) -> Account:
            ways = {
                way: Tally(**{n: sound.get(f"{kind}.{way}.{n}", 0) for n in _TALLY_FIELDS})
                for way in ("sent", "untouched", "window")
            }
            return Account(**ways, untouched_over=sound.get(f"{kind}.untouched_over", 0))

        return cls(measured=account("measured"), estimated=account("estimated"))

    def to_dict(self) -> dict[str, Any]:
        """Plain values that ``json.dumps`` takes: every figure, then what people ask for first."""
        return {
            "figures": self.flat(),
            "requests": self.total.sent.requests,
            "cost_usd": self.total.sent.cost_usd,
            "saved_usd": self.saved_usd,
            "measured": self.is_measured,
        }

    @classmethod
    def from_dict(cls, data: object) -> Ledger:
        """Read what ``to_dict`` wrote; an empty ledger from what is none."""
        figures = data.get("figures") if isinstance(data, Mapping) else None
        return cls.from_flat(figures) if isinstance(figures, Mapping) else cls()


def _whole_figure(value: object) -> int | None:
    if isinstance(value, str | bytes):
        try:
            return int(value)
        except ValueError:
            return None
    return value if isinstance(value, int) and not isinstance(value, bool) else None
