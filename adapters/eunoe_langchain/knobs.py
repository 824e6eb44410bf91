"""The core's settings as LangChain's users give them: a mapping of names to values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from eunoe import Settings, SettingsError
from eunoe.domain.profile import PROFILES
from eunoe.domain.settings import POLICY_NAMES

Knobs = tuple[tuple[str, Any], ...]
"""Settings as a key: names and values, sorted."""


def check_settings(name: str, value: Any) -> None:
    """Refuse an unknown policy, profile or knob where it is set, not where it is used.

    Raises:
        ValueError: the value is not allowed.
    """
    if name == "settings":
        settings_of(knobs_of(value))
    allowed = {"policy": POLICY_NAMES, "profile": tuple(PROFILES)}.get(name)
    if allowed is not None and value is not None and value not in allowed:
        raise SettingsError(name, value, ", ".join(allowed))


def settings_of(knobs: Knobs) -> Settings:
    """The core's settings; ``!flags`` are not read unless asked, since any text may begin so."""
    known = {f.name for f in fields(Settings)}
    for name, value in knobs:
        if name not in known:
            raise SettingsError(name, value, "a name of " + ", ".join(sorted(known)))
    return Settings(**{"read_flags": False, **dict(knobs)})


def knobs_of(settings: Mapping[str, Any]) -> Knobs:
    """The settings as a key: sorted, lists as tuples."""
    return tuple(
        (name, tuple(value) if isinstance(value, list) else value)
        for name, value in sorted(settings.items())
    )
