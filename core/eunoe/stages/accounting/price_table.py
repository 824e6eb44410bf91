"""A table of prices: looked up by name, by alias, by pattern, the most specific first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from eunoe.domain.errors import SettingsError
from eunoe.stages.accounting.model_names import (
    is_free_variant,
    model_name_candidates,
    pattern_matches,
    pattern_weight,
    without_dotted_prefix,
)
from eunoe.stages.accounting.price import ModelPrice

FREE_MODEL_PRICE = ModelPrice(input=0.0, output=0.0)
_MOST_ALIASES = 4
_PRICE_FIELDS = frozenset(f.name for f in fields(ModelPrice))
_LONG_PRICE_NAMES = {
    "input_price_per_1m": "input",
    "cached_price_per_1m": "cached",
    "write_price_per_1m": "write",
    "output_price_per_1m": "output",
}


@dataclass(frozen=True, slots=True)
class ModelPricingTable:
    """Prices of models by name. A model that is not in it has no price: nothing is made up.

    Attributes:
        entries: prices by lower-case name; a name with ``*`` is a pattern.
        aliases: lower-case name -> name that is looked up in its place.
        source: where the prices are taken from, and of which day.
    """

    entries: Mapping[str, ModelPrice] = field(default_factory=dict)
    aliases: Mapping[str, str] = field(default_factory=dict)
    source: str = ""

    def __len__(self) -> int:
        return len(self.entries)

    @classmethod
    def empty(cls) -> ModelPricingTable:
        """No prices: only tokens are counted."""
        return cls()

    @classmethod
    def from_dict(cls, data: Any) -> ModelPricingTable:
        """Read a table from plain values.

        Args:
            data: ``{"models": {name: {"input": 2.5, "cached": 1.25, "output": 10}}, "aliases":
                {name: other name}, "source": "..."}``, or a part of it, all in US dollars per
                million tokens; or the models alone; or a list of them, each with its ``model_id``.
                The longer names ``input_price_per_1m`` and so on are read, too.

        Raises:
            SettingsError: it is none of these, or a price is no number or negative.
        """
        if isinstance(data, Mapping) and not {"models", "aliases"}.isdisjoint(data):
            models, aliases = data.get("models", {}), data.get("aliases")
            source = data.get("source")
        else:
            models, aliases, source = data, None, None
        if isinstance(models, Mapping):
            rows: Iterable[tuple[Any, Any]] = models.items()
        elif isinstance(models, list):
            rows = [(r.get("model_id") if isinstance(r, Mapping) else None, r) for r in models]
        else:
            raise SettingsError("models", models, "a mapping of names to prices, or a list")
        entries = {_price_key(name): _read_price(name, row) for name, row in rows}
        if aliases is not None and not isinstance(aliases, Mapping):
            raise SettingsError("aliases", aliases, "a mapping of names to names")
        others = {_price_key(k): _price_key(v) for k, v in (aliases or {}).items()}
        return cls(entries, others, str(source or ""))

    def merged(self, other: ModelPricingTable) -> ModelPricingTable:
        """This table with another laid over it: the other's entries and aliases win."""
        kept = {n: price for n, price in self.entries.items() if n not in other.aliases}
        return ModelPricingTable(
            {**kept, **other.entries},
            {**self.aliases, **other.aliases},
            ", ".join(dict.fromkeys(s for s in (other.source, self.source) if s)),
        )

    def with_aliases(self, aliases: Mapping[str, str]) -> ModelPricingTable:
        """This table with more names for its models."""
        return self.merged(ModelPricingTable.from_dict({"models": {}, "aliases": aliases}))

    def get(self, model_id: str | None) -> ModelPrice | None:
        """The price of a model, or None if the table does not know it.

        An exact name wins over a pattern, and a pattern that says more over one that says less. An
        alias counts as a name. What hosts add to a name is taken off step by step.
        """
        if not model_id:
            return None
        names = model_name_candidates(model_id)
        found = self._find(names)
        if found is None:
            rest = next((r for n in names if (r := without_dotted_prefix(n)) is not None), None)
            found = self._named(model_name_candidates(rest)) if rest else None
        if found is not None and is_free_variant(model_id):
            return FREE_MODEL_PRICE
        return found

    def _find(self, names: tuple[str, ...]) -> ModelPrice | None:
        found = self._named(names)
        return self._fitting(names) if found is None else found

    def _named(self, names: tuple[str, ...], steps: int = _MOST_ALIASES) -> ModelPrice | None:
        """By name or alias; an alias may name another one, a few times."""
        for name in names:
            if "*" not in name and (price := self.entries.get(name)) is not None:
                return price
            target = self.aliases.get(name)
            if target is not None and steps:
                others = model_name_candidates(target)
                price = self._named(others, steps - 1) or self._fitting(others)
                if price is not None:
                    return price
        return None

    def _fitting(self, names: tuple[str, ...]) -> ModelPrice | None:
        """By the pattern that says most."""
        patterns = [p for p in self.entries if "*" in p]
        for name in names:
            fitting = [p for p in patterns if pattern_matches(p, name)]
            if fitting:
                return self.entries[max(fitting, key=lambda p: (pattern_weight(p), p))]
        return None


def _price_key(name: object) -> str:
    if not isinstance(name, str) or not name.strip():
        raise SettingsError("model_id", name, "a name")
    return name.strip().lower()


def _read_price(name: object, row: object) -> ModelPrice:
    if isinstance(row, ModelPrice):
        return row
    if not isinstance(row, Mapping):
        raise SettingsError(str(name), row, "a mapping with input and output")
    values = {_LONG_PRICE_NAMES.get(str(k), str(k)): v for k, v in row.items()}
    values.pop("model_id", None)
    unknown = sorted(set(values) - _PRICE_FIELDS)
    if unknown or not {"input", "output"} <= set(values):
        raise SettingsError(
            str(name), row, f"input and output, and of {', '.join(sorted(_PRICE_FIELDS))}"
        )
    return ModelPrice(**values)
