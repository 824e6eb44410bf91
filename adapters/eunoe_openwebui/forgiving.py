"""Settings that come from a web form or a database: whatever arrives, a usable value results."""

from __future__ import annotations

import math
import re
import typing
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationInfo, field_validator
from pydantic.fields import FieldInfo

from eunoe.domain.nesting import json_text

_GROUP_MARK = re.compile(r"[.,'\u2019\s]")
_UNIT = re.compile(r"(?<=[\d\s%km])\s*(?:tokens?|percent|seconds?|secs?|s)$")
_DIGIT_GROUPS = re.compile(r"[1-9][0-9]{0,2}([.,'\u2019\s])[0-9]{3}(?:\1[0-9]{3})*")


# Of these the description says what they stand for.
_TOLD_DEFAULTS = (0, "", "{}", "none", "preset")


def _with_defaults(schema: dict[str, Any]) -> None:
    """Let each description end with the default: the host's page hides it behind a button."""
    for field in schema.get("properties", {}).values():
        default = field.get("default")
        if isinstance(default, bool):
            default = "on" if default else "off"
        if default in _TOLD_DEFAULTS:
            continue
        shown = f"{default:,g}" if isinstance(default, (int, float)) else default
        field["description"] = f"{field.get('description', '')} Default: **{shown}**."


class ForgivingModel(BaseModel):
    """A model whose fields take anything: nonsense becomes the default, a number is clamped.

    The host validates stored settings before every request and turns each validation error into a
    failed chat; hence nothing here raises. The range of a number is that of its ``Field``.
    """

    model_config = ConfigDict(json_schema_extra=_with_defaults)

    @field_validator("*", mode="before")
    @classmethod
    def usable(cls, value: Any, info: ValidationInfo) -> Any:
        """The value, converted and clamped, or the field's default."""
        field = cls.model_fields[info.field_name or ""]
        percent = (info.field_name or "").endswith("_percent")
        usable = _usable_value(value, field, percent=percent)
        return field.default if usable is None else usable


def _usable_value(value: Any, field: FieldInfo, *, percent: bool) -> Any:
    """The value in the field's type and range; None where there is none."""
    if value is None:
        return None
    if choices := typing.get_args(field.annotation):
        return _usable_choice(value, choices)
    if isinstance(field.default, bool):
        return _usable_switch(value)
    if isinstance(field.default, (int, float)):
        return _usable_number(value, field, percent=percent)
    return _usable_text(value)


def _usable_choice(value: Any, choices: tuple[Any, ...]) -> Any:
    wanted = str(value).strip().lower()
    return next((choice for choice in choices if str(choice).lower() == wanted), None)


def _usable_switch(value: Any) -> bool | None:
    words = {"true": True, "1": True, "yes": True, "on": True}
    words |= {"false": False, "0": False, "no": False, "off": False}
    return words.get(str(value).strip().lower())


def _usable_number(value: Any, field: FieldInfo, *, percent: bool) -> int | float | None:
    """The number within the bounds that the field declares; None for what is no number.

    Of percents a fraction is meant as a share: 0.8 are 80.
    """
    try:
        whole = isinstance(field.default, int)
        typed = isinstance(value, str)
        number = _written_number(value, whole=whole) if typed else float(str(value))
    except ValueError:
        return None
    if math.isnan(number):
        return None
    if percent and 0 < number < 1:
        number = round(number * 100, 6)
    for bound in field.metadata:
        number = max(number, getattr(bound, "ge", number))
        number = min(number, getattr(bound, "le", number))
    return int(number) if isinstance(field.default, int) else number


def _written_number(text: str, *, whole: bool) -> float:
    """A number as people write it: ``8k``, ``8,000`` where it is a whole one; ``0,5``, ``50 %``.

    Its unit, and that it is about so much, may stand with it; a percent sign, where whole ones are
    asked for, is such a unit.

    Raises:
        ValueError: it is none.
    """
    bare = _UNIT.sub("", text.strip().lower().replace("_", "").lstrip("~\u2248<\u2264= ")).strip()
    if whole:
        bare = bare.removesuffix("%").rstrip()
    factor = {"k": 1e3, "m": 1e6}.get(bare[-1:], 1.0) if whole else 1.0
    if bare.endswith("%") and not whole:
        factor = 0.01
    if factor != 1.0:
        bare = bare[:-1].rstrip()
    if whole and _DIGIT_GROUPS.fullmatch(bare):
        return float(_GROUP_MARK.sub("", bare)) * factor
    return float(bare.replace(",", ".")) * factor


def _usable_text(value: Any) -> str | None:
    if isinstance(value, (dict, list)):
        return json_text(value)
    return str(value).strip() or None
