"""Prices from outside: an own JSON file, and the live list of OpenRouter, kept in a file.

    live = OpenRouterPrices("~/.cache/eunoe/prices.json")
    prices = find_prices(own_file="own_prices.json", live=live)
    ContextOrchestrator(budget=CostBudget(0.01), prices=prices)

Nothing is fetched unless ``OpenRouterPrices`` is made and asked: not at import, not in a request.
"""

from __future__ import annotations

import json
import math
import os
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from eunoe.domain.errors import BackendError, SettingsError
from eunoe.domain.log import logger
from eunoe.stages.accounting import ModelPrice, ModelPricingTable, list_prices

OPENROUTER_MODELS_URL = "https://openrouter.ai/api/v1/models"
_RETRY_SECONDS = 600.0
_LARGEST_LIST = 32_000_000


def read_price_file(path: str | Path) -> ModelPricingTable:
    """Read an own table of prices; see ``ModelPricingTable.from_dict`` for its form.

    Raises:
        SettingsError: the file cannot be read, is no JSON, or holds no such table.
    """
    place = Path(path).expanduser()
    try:
        data = json.loads(place.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise SettingsError("price file", str(path), f"a file ({error.strerror})") from error
    except (ValueError, RecursionError) as error:
        raise SettingsError("price file", str(path), f"JSON ({error})") from error
    table = ModelPricingTable.from_dict(data)
    return ModelPricingTable(table.entries, table.aliases, table.source or place.name)


class OpenRouterPrices:
    """The prices that OpenRouter publishes for every model it serves, kept in a file for a while.

    Args:
        cache_file: where the list is kept between processes; None keeps it in memory only.
        ttl_hours: age at which the list is fetched again, above 0.
        timeout: seconds that a fetch may take.
        url: of the list.
        clock: seconds since the epoch.

    Raises:
        SettingsError: ``ttl_hours`` or ``timeout`` is not above 0.
    """

    def __init__(
        self,
        cache_file: str | Path | None = None,
        *,
        ttl_hours: float = 24.0,
        timeout: float = 10.0,
        url: str = OPENROUTER_MODELS_URL,
        clock: Callable[[], float] = time.time,
    ) -> None:
        for name, value in (("ttl_hours", ttl_hours), ("timeout", timeout)):
            if not 0 < value < math.inf:
                raise SettingsError(name, value, "above 0, finite")
        self._file = Path(cache_file).expanduser() if cache_file is not None else None
        self._ttl = ttl_hours * 3600
        self._timeout, self._url, self._clock = timeout, url, clock
        self._table = ModelPricingTable.empty()
        self._fetched = -math.inf
        self._tried = -math.inf

    def table(self) -> ModelPricingTable:
        """The newest list that there is: fetched if it is too old, else as it was kept.

        Never raises: offline, the kept list serves however old it is, and the next try is ten
        minutes later. Empty if there never was one. Blocks at most ``timeout`` seconds, so ask
        outside of requests.
        """
        now = self._clock()
        if now - self._fetched > self._ttl:
            self._read_kept(now)
        if now - self._fetched > self._ttl and not 0 <= now - self._tried < _RETRY_SECONDS:
            self._tried = now
            try:
                self.refresh()
            except BackendError as error:
                logger.warning("no live prices: %s", error)
        return self._table

    def kept(self) -> ModelPricingTable:
        """The list as it was kept; never the network."""
        self._read_kept(self._clock())
        return self._table

    def refresh(self) -> ModelPricingTable:
        """Fetch the list now, and keep it.

        Raises:
            BackendError: httpx is not installed, or there was no usable answer in time.
        """
        now = self._clock()
        data = self._fetch()
        table = parse_openrouter_models(data, day=_day_of(now))
        if not table:
            raise BackendError(f"{self._url} lists no prices")
        self._table, self._fetched = table, now
        self._keep(data, now)
        return table

    def _fetch(self) -> Any:
        try:
            import httpx
        except ImportError as error:
            raise BackendError("live prices need httpx: pip install 'eunoe[http]'") from error
        deadline = time.monotonic() + self._timeout
        body = b""
        try:
            with httpx.stream(
                "GET", self._url, timeout=self._timeout, follow_redirects=True
            ) as answer:
                answer.raise_for_status()
                for chunk in answer.iter_bytes():
                    body += chunk
                    if time.monotonic() > deadline or len(body) > _LARGEST_LIST:
                        raise BackendError(f"{self._url}: too slow or too large")
            return json.loads(body)
        except (httpx.HTTPError, httpx.InvalidURL, ValueError, RecursionError) as error:
            raise BackendError(f"{self._url}: {type(error).__name__}") from error

    def _read_kept(self, now: float) -> None:
        if self._file is None:
            return
        try:
            kept = json.loads(self._file.read_text(encoding="utf-8"))
            fetched = float(kept["fetched"])
            table = parse_openrouter_models(kept["answer"], day=_day_of(fetched))
        except (OSError, ValueError, TypeError, KeyError, OverflowError, RecursionError):
            return
        if table and self._fetched < fetched <= now:
            self._table, self._fetched = table, fetched

    def _keep(self, data: Any, now: float) -> None:
        if self._file is None:
            return
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            write_whole(self._file, json.dumps({"fetched": now, "answer": _prices_only(data)}))
        except OSError as error:
            logger.warning("prices are not kept: %s", error.strerror)


def parse_openrouter_models(data: object, *, day: str = "") -> ModelPricingTable:
    """Read OpenRouter's list: dollars a token as text, by ``vendor/model``.

    A model without a price for input and output, or with a negative one (it varies), is left out.
    A name without its vendor is an alias, where only one vendor has it.
    """
    rows = data.get("data") if isinstance(data, Mapping) else None
    entries: dict[str, ModelPrice] = {}
    bare: dict[str, set[str]] = {}
    for row in rows if isinstance(rows, list) else ():
        name = row.get("id") if isinstance(row, Mapping) else None
        price = _openrouter_price(row.get("pricing")) if isinstance(name, str) and name else None
        if price is not None and isinstance(name, str):
            entries[name.lower()] = price
            bare.setdefault(name.lower().rpartition("/")[2], set()).add(name.lower())
    aliases = {
        short: next(iter(full))
        for short, full in bare.items()
        if len(full) == 1 and short not in full and ":" not in short
    }
    return ModelPricingTable(entries, aliases, f"OpenRouter {day}".strip())


def _openrouter_price(pricing: object) -> ModelPrice | None:
    if not isinstance(pricing, Mapping):
        return None

    def dollars(name: str) -> float | None:
        try:
            value = float(pricing[name]) * 1_000_000
        except (KeyError, TypeError, ValueError):
            return None
        return round(value, 6) if 0 <= value < math.inf else None

    into, out = dollars("prompt"), dollars("completion")
    if into is None or out is None:
        return None
    cached, write = dollars("input_cache_read"), dollars("input_cache_write")
    return ModelPrice(input=into, output=out, cached=cached or None, write=write or None)


def _prices_only(data: Any) -> dict[str, Any]:
    """The part of the answer that is read again; descriptions are not kept."""
    rows = [r for r in data["data"] if isinstance(r, Mapping)]
    return {"data": [{"id": r.get("id"), "pricing": r.get("pricing")} for r in rows]}


def _day_of(seconds: float) -> str:
    with suppress(ValueError, OverflowError, OSError):
        return time.strftime("%Y-%m-%d", time.gmtime(seconds))
    return ""


def write_whole(path: Path, text: str) -> None:
    """Write a file so that a reader sees the old one or the new one, never a part.

    Raises:
        OSError: it cannot be written.
    """
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(name).replace(path)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise


def find_prices(
    *,
    own_file: str | Path | None = None,
    live: OpenRouterPrices | None = None,
    aliases: Mapping[str, str] | None = None,
) -> ModelPricingTable:
    """One table of all sources: own prices over live ones over list prices.

    Args:
        own_file: JSON; see ``read_price_file``.
        live: asked once; make the table anew to ask again. What it does not tell, long prompts that
            cost more and the smallest prefix that is cached, is that of the list.
        aliases: own name of a model -> the name under which its price is known.

    Raises:
        SettingsError: the own file or the aliases cannot be read.
    """
    table = list_prices()
    if live is not None:
        table = table.merged(_with_list_details(live.table(), table))
    if own_file is not None:
        table = table.merged(read_price_file(own_file))
    return table.with_aliases(aliases) if aliases else table


def _with_list_details(live: ModelPricingTable, known: ModelPricingTable) -> ModelPricingTable:
    """The live prices with what only the list tells of the same models."""
    entries = {}
    for name, price in live.entries.items():
        listed = known.get(name)
        entries[name] = price
        if listed is not None:
            entries[name] = replace(
                price,
                long_from=listed.long_from,
                long_input=listed.long_input,
                long_output=listed.long_output,
                cache_from=listed.cache_from,
            )
    return ModelPricingTable(entries, live.aliases, live.source)
