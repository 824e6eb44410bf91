"""What the flags of a turn make of the operator's limit and settings."""

from __future__ import annotations

from dataclasses import replace

from eunoe.domain.flag import Flags
from eunoe.domain.settings import Settings


def limit_by_flags(limit: int, flags: Flags, cap: int | None, least: int) -> int:
    """The limit with ``!full`` and ``!target`` applied; never above the operator's cap.

    Args:
        least: tokens of what may not be cut; a target below is raised to it, since a target is a
            wish and no reason to refuse.
    """
    full, target = flags.full, flags.target and max(flags.target, least)
    if not limit or not (full or target):
        return min(limit, target) if limit and target else limit or (target or 0)
    most = max(limit, cap or 0)
    return most if full else min(most, target or most)


def settings_by_flags(settings: Settings, flags: Flags) -> Settings:
    """The settings with the factors of this turn's flags."""
    if flags.pair_coherence is not None:
        settings = replace(settings, pair_coherence=flags.pair_coherence)
    if flags.tool_penalty is not None:
        settings = replace(settings, tool_penalty=flags.tool_penalty)
    return settings
