"""What answers report: our counts corrected by it, and the ledger."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from eunoe.pipeline.accounts.forecasting import enter_requests
from eunoe.pipeline.accounts.usage_book import UsageBook
from eunoe.stages.accounting.forecast import RequestForecast
from eunoe.stages.accounting.ledger import Ledger
from eunoe.stages.accounting.list_prices import list_prices
from eunoe.stages.accounting.price import PriceLookup
from eunoe.stages.counting.calibration import read_usage
from eunoe_backends.ledger_store import JsonLinesLedgerStore
from eunoe_proxy.answers import AnswerWatch


class LedgerKeeper(Protocol):
    """**Protocol:** keeps entries; the stores of ``eunoe_backends`` do."""

    def add(self, chat: str, entry: Ledger) -> None:
        """Add to the ledger of a chat."""
        ...


@dataclass(frozen=True, slots=True)
class EnteredAnswer:
    """What an answer reported.

    Attributes:
        cached: tokens that came from the provider's cache.
        saved: seconds that a local model did not spend on reading these; 0 where none is known.
        ledger: of the request; None where nobody keeps it, and no price is known.
    """

    cached: int
    saved: float = 0.0
    ledger: Ledger | None = None


class ProxyAccounts:
    """Ratios by model, and what was answered in the ledger; nothing of any text.

    Args:
        ledger: a file, or empty for none.
        keeper: in its place, any store.
        prices: of models; by default their list prices.
    """

    def __init__(
        self,
        ledger: str = "",
        keeper: LedgerKeeper | None = None,
        prices: PriceLookup | None = None,
    ) -> None:
        self.book = UsageBook()
        self.prices: PriceLookup = prices if prices is not None else list_prices()
        self._keeper = keeper
        if keeper is None and ledger:
            self._keeper = JsonLinesLedgerStore(ledger)

    def enter(
        self,
        watch: AnswerWatch,
        *,
        model: str,
        counted: int,
        forecast: RequestForecast,
        session: str,
        named: bool,
        watched: bool = False,
    ) -> EnteredAnswer | None:
        """Enter an answered request; may block for as long as a file takes.

        Args:
            watch: has seen the answer.
            model: that was asked.
            counted: our count of what was sent, uncorrected.
            forecast: of the request, in the provider's tokens.
            session: whose request.
            named: the caller named the session; else what it repeats is not known for sure.
            watched: an observer wants the ledger.

        Returns:
            What it reported; None, and nothing is entered, if the answer is an error after all.
        """
        usage = watch.usage()
        if watch.failed:
            return None
        turn = self.book.learn(model, counted, (forecast,) if named else (), usage)
        entry = None
        if self._keeper is not None or watched or self.prices.get(model) is not None:
            entry = enter_requests(
                [forecast],
                model_id=model,
                usage=usage,
                prices=self.prices,
                hit_share=self.book.cache_share(model),
            )
        if self._keeper is not None and entry is not None:
            self._keeper.add(session, entry)
        read = read_usage(usage)
        return EnteredAnswer(
            read.cached if read is not None else 0,
            turn.seconds if turn is not None else 0.0,
            entry,
        )
