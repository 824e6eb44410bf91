"""Arguments of callers, checked where they come in: what is wrong, the value, what is allowed."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

from eunoe.domain.errors import SettingsError


def require_whole(
    name: str, value: object, allowed: str, *, least: int = 0, most: float = float("inf")
) -> None:
    """Refuse what is no whole number, or too small or large; True and False are no numbers.

    Raises:
        SettingsError: it is refused.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise SettingsError(name, value, allowed)


def require_number(name: str, value: object, allowed: str, *, above: float = 0.0) -> None:
    """Refuse what is no finite number of at least ``above``.

    Raises:
        SettingsError: it is refused.
    """
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not above <= value <= sys.float_info.max:  # type: ignore[operator]
        raise SettingsError(name, value, allowed)


def require_seconds(name: str, value: object, *, or_none: bool = False) -> None:
    """Refuse what is no finite number above 0; None only where it may be.

    Raises:
        SettingsError: it is refused.
    """
    allowed = "seconds, above 0, finite" + (", or None" if or_none else "")
    if value is None and or_none:
        return
    require_number(name, value, allowed)
    if not value:
        raise SettingsError(name, value, allowed)


def require_choice(name: str, value: object, choices: Sequence[str]) -> None:
    """Refuse what is none of some words.

    Raises:
        SettingsError: it is refused.
    """
    if not isinstance(value, str) or value not in choices:
        raise SettingsError(name, value, ", ".join(choices))


def require_switch(name: str, value: object) -> None:
    """Refuse what is neither True nor False, such as the text ``"false"``, which counts as true.

    Raises:
        SettingsError: it is refused.
    """
    if not isinstance(value, bool):
        raise SettingsError(name, value, "True, False")


def require_names(name: str, value: object) -> None:
    """Refuse what is no tuple of texts, such as one text, of which each letter would be a name.

    Raises:
        SettingsError: it is refused.
    """
    if not isinstance(value, tuple) or not all(isinstance(x, str) for x in value):
        raise SettingsError(name, value, "a tuple of names")


def require_text_or_none(name: str, value: object, what: str) -> None:
    """Refuse what is neither a text nor None.

    Raises:
        SettingsError: it is refused.
    """
    if value is not None and not isinstance(value, str):
        raise SettingsError(name, value, f"{what}, or None")


def require_tools(value: object) -> None:
    """Refuse tools that are no list of schemas; None is none.

    Raises:
        SettingsError: it is refused.
    """
    if value is None:
        return
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Sequence):
        raise SettingsError("tools", value, "a list of tool schemas (dicts), or None")
    for i, tool in enumerate(value):
        if not isinstance(tool, Mapping):
            raise SettingsError(f"tools[{i}]", tool, "a tool schema (a dict)")


def require_members(name: str, value: object, members: Sequence[str], allowed: str) -> None:
    """Refuse an object that lacks one of some attributes, or is a class.

    No attribute is read: one may answer only while a request runs.

    Raises:
        SettingsError: it is refused.
    """
    if isinstance(value, type) or not set(members) <= set(dir(value)):
        raise SettingsError(name, value, allowed)


def require_model_name(name: str, value: object) -> str:
    """Refuse a name of a model that is no text: what it says is remembered by its name.

    Raises:
        SettingsError: it is refused.
    """
    if not isinstance(value, str):
        raise SettingsError(f"{name}.name", value, "a text")
    return value
