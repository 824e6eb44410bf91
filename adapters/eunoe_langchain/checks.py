"""Fields of the optimizer that pydantic cannot check, refused where they are set."""

from __future__ import annotations

from typing import Any

from eunoe_langchain.counters import check_counter
from eunoe_langchain.knobs import check_settings
from eunoe_langchain.models import MODEL_FIELDS, read_model
from eunoe_langchain.money import as_prices
from eunoe_langchain.watching import check_observer

CHECKED_FIELDS = (
    "token_counter",
    "policy",
    "profile",
    "settings",
    "observer",
    "prices",
    *MODEL_FIELDS,
)


def check_field(name: str, value: Any) -> None:
    """Refuse a value of one of ``CHECKED_FIELDS``.

    Raises:
        EunoeError: it is refused.
    """
    if name in MODEL_FIELDS:
        read_model(name, value)
    elif name == "token_counter":
        check_counter(value)
    elif name == "observer":
        check_observer(value)
    elif name == "prices":
        as_prices(value)
    else:
        check_settings(name, value)
