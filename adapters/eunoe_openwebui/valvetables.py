"""Tables that an administrator types into a field, and what is wrong with them."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from eunoe.domain.errors import SettingsError
from eunoe.stages.accounting.price_table import ModelPricingTable
from eunoe_openwebui.valves import FilterValves

_CURLY_QUOTES = str.maketrans({"\u201c": '"', "\u201d": '"', "\u201e": '"'})
_NO_LETTERS = re.compile(r"[^a-z0-9]+")


@lru_cache(maxsize=32)
def read_typed_json(text: str) -> Any:
    """The value that is meant; None if the text is no JSON.

    Quotation marks that an editor made curly or somebody made single, and a comma too many, do not
    matter.
    """
    straight = text.translate(_CURLY_QUOTES)
    for form, read in ((text, json.loads), (straight, json.loads), (straight, ast.literal_eval)):
        try:
            return read(form.strip() or "{}")
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
    return None


def overrides_by_model(text: str) -> Mapping[str, Mapping[Any, Any]]:
    """Settings by patterns of models; what has not that form is left out."""
    table = read_typed_json(text)
    entries = table.items() if isinstance(table, dict) else ()
    return {str(name): values for name, values in entries if isinstance(values, dict)}


def named_valves(values: Mapping[Any, Any]) -> dict[str, Any]:
    """Settings by the names in the code, given by these or as the page shows them."""
    found = {_valve_names().get(_bare(name)): value for name, value in values.items()}
    return {name: value for name, value in found.items() if name is not None}


def read_own_prices(text: str) -> ModelPricingTable:
    """The prices that are typed in.

    Raises:
        SettingsError: they have not the form of prices.
    """
    try:
        return ModelPricingTable.from_dict(read_typed_json(text))
    except (TypeError, ValueError, ArithmeticError, AttributeError) as error:
        raise SettingsError("own_prices", type(error).__name__, "JSON of prices") from error


@lru_cache(maxsize=8)
def table_faults(model_overrides: str, own_prices: str) -> tuple[str, ...]:
    """What the administrator should mend in the tables, a few words each."""
    faults, fields = [], FilterValves.model_fields
    overrides, title = overrides_by_model(model_overrides), fields["model_overrides"].title
    table = read_typed_json(model_overrides)
    if not isinstance(table, dict) or len(overrides) < len(table):
        faults.append(f'setting "{title}" is not used: it is no JSON of that form')
    unknown = (n for values in overrides.values() for n in values if not named_valves({n: 0}))
    faults += [
        f'setting "{title}" names "{str(name)[:40]}", which is no setting' for name in unknown
    ]
    try:
        read_own_prices(own_prices)
    except SettingsError:
        title = fields["own_prices"].title
        faults.append(f'setting "{title}" is not used: it is no JSON of that form')
    return tuple(faults)


@lru_cache(maxsize=1)
def _valve_names() -> Mapping[str, str]:
    """The names in the code, by these and by the titles."""
    fields = FilterValves.model_fields.items()
    titles = {_bare(field.title or ""): name for name, field in fields}
    return titles | {_bare(name): name for name, _ in fields}


def _bare(name: object) -> str:
    return _NO_LETTERS.sub("", str(name).lower())
