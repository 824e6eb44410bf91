"""Settings that come from a web form or a database: whatever arrives, a usable value results."""

from __future__ import annotations

import math
import typing
from typing import Any

from pydantic import BaseModel, ValidationInfo, field_validator
from pydantic.fields import FieldInfo

from eunoe.domain.nesting import json_text


class ForgivingModel(BaseModel):
    """A model whose fields take anything: nonsense becomes the default, a number is clamped.

    The host validates stored settings before every request and turns each validation error into a
    failed chat; hence nothing here raises. The range of a number is that of its ``Field``.
    """

    @field_validator("*", mode="before")
    @classmethod
    def usable(cls, value: Any, info: ValidationInfo) -> Any:
        """The value, converted and clamped, or the field's default."""
        field = cls.model_fields[info.field_name or ""]
        usable = _usable_value(value, field)
        return field.default if usable is None else usable


def _usable_value(value: Any, field: FieldInfo) -> Any:
    """The value in the field's type and range; None where there is none."""
    if value is None:
        return None
    if choices := typing.get_args(field.annotation):
        return _usable_choice(value, choices)
    if isinstance(field.default, bool):
        return _usable_switch(value)
    if isinstance(field.default, (int, float)):
        return _usable_number(value, field)
    return _usable_text(value)


def _usable_choice(value: Any, choices: tuple[Any, ...]) -> Any:
    wanted = str(value).strip().lower()
    return next((choice for choice in choices if str(choice).lower() == wanted), None)


def _usable_switch(value: Any) -> bool | None:
    words = {"true": True, "1": True, "yes": True, "on": True}
    words |= {"false": False, "0": False, "no": False, "off": False}
    return words.get(str(value).strip().lower())


def _usable_number(value: Any, field: FieldInfo) -> int | float | None:
    """The number within the bounds that the field declares; None for what is no number."""
    try:
        number = float(str(value).strip().replace("_", ""))
    except ValueError:
        return None
    if math.isnan(number):
        return None
    for bound in field.metadata:
        number = max(number, getattr(bound, "ge", number))
        number = min(number, getattr(bound, "le", number))
    return int(number) if isinstance(field.default, int) else number


def _usable_text(value: Any) -> str | None:
    if isinstance(value, (dict, list)):
        return json_text(value)
    return str(value).strip() or None
