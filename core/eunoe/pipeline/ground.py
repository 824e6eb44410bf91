"""What a request stands on before anything is decided: its counter, its limit, its settings."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from eunoe.domain.flag import Flags
from eunoe.domain.ports import TokenCounter
from eunoe.domain.settings import Settings
from eunoe.pipeline.request import Request
from eunoe.stages.counting.tokenizer import family_of, find_tokenizer
from eunoe.stages.own_servers import check_call_ids
from eunoe.stages.validity import beyond_talk, check_messages


@lru_cache(maxsize=512)
def model_counter(model_id: str | None, scale_by_family: bool) -> TokenCounter:
    """The counter of a model: its own tokenizer, else the common one, scaled only if asked for."""
    counter = find_tokenizer(family_of(model_id))
    return counter if counter.exact or scale_by_family else find_tokenizer("o200k")


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


def nothing_to_change(request: Request) -> bool:
    """No flag to strip or to follow, and no rule broken."""
    if request.flags.stripped or request.flags.now.context is not None:
        return False
    if any(f.drop for f in request.flags.by_message.values()):
        return False
    if request.settings.rewrite_call_ids and check_call_ids(request.messages, request.profile):
        return False
    messages, finished = request.messages, request.turn_start
    special = request.transcript.beyond_talk + beyond_talk(messages, finished)
    return not check_messages(messages, request.profile, special)
