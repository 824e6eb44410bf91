"""`--prices`, `--live-prices`, `--max-cost`: what models cost, and what a request may."""

from __future__ import annotations

import argparse
import math
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eunoe.stages.accounting.price import PriceLookup


def add_price_arguments(parser: argparse.ArgumentParser) -> None:
    """The three options."""
    parser.add_argument(
        "--prices",
        metavar="FILE",
        help="own prices and names of models, JSON, over all others: "
        '{"models": {"mine": {"input": 1, "cached": 0.1, "output": 4}}, "aliases": {"a": "mine"}}',
    )
    parser.add_argument(
        "--live-prices",
        action="store_true",
        help="fetch the prices that OpenRouter publishes, once a day; no text is sent",
    )
    parser.add_argument(
        "--max-cost",
        type=dollars,
        default=0.0,
        metavar="USD",
        help="cap on what the input of a request may cost, where the model's price is known",
    )


def dollars(text: str) -> float:
    """A sum above 0; ``$0.01`` is 0.01.

    Raises:
        ArgumentTypeError: it is something else.
    """
    try:
        value = float(text.strip().removeprefix("$"))
    except ValueError:
        value = 0.0
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is no sum of dollars; write 0.01")
    return value


def find_option_prices(options: argparse.Namespace) -> PriceLookup:
    """The prices that the options name; live ones are kept in a file for a day.

    Raises:
        SettingsError: the own file cannot be read.
    """
    from eunoe_backends import OpenRouterPrices, find_prices

    live = OpenRouterPrices(kept_prices_file()) if options.live_prices else None
    if live is not None and not live.table():
        print("no live prices: the listed ones count", file=sys.stderr)
    return find_prices(own_file=options.prices, live=live)


def kept_prices_file() -> Path:
    """Where a command keeps the live prices that it fetched."""
    home = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(home).expanduser() / "eunoe" / "openrouter_prices.json"
