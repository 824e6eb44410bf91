"""How far our count of the last request was off, from what the provider reported of it.

A pure function of the chat and the report: the request before this one is chosen anew and counted.
What cannot be known from these two is whether the correction was in force then already; a longer
answer, whose tokens are reported too, tells the cases apart. ``OrchestratorResult.reported`` puts
our own count into the report, and leaves no doubt.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from eunoe.domain.conversation import Conversation
from eunoe.domain.errors import BudgetError
from eunoe.stages.accounting.billing import context_tokens
from eunoe.stages.counting.calibration import (
    CALIBRATION_HIGHEST,
    FACTOR_STEPS,
    Calibration,
    Usage,
    read_usage,
    stepped_factor,
)
from eunoe.wire.given_forms import fields_given

COUNTED_KEY = "eunoe_counted"
_STEP = 1 / FACTOR_STEPS
_LEAST_ANSWER = 16
_NEAR = 1.1


@dataclass(frozen=True, slots=True)
class Replayed:
    """A request chosen anew: tokens that are sent, and whether that is the whole chat."""

    tokens: int
    whole: bool


Replay = Callable[[Conversation, float], Replayed]


@dataclass(frozen=True, slots=True)
class UsageReading:
    """What a report says of our count.

    Attributes:
        factor: provider's tokens for each of ours, in steps of 0.05, rounded up, in [1, 2]. Where
            the provider counts fewer it is 1: reports may leave cached tokens out, and too large a
            request is refused, while room that stays unused only costs a little.
        warnings: why the report was not used, a sentence each.
    """

    factor: float = 1.0
    warnings: tuple[str, ...] = ()


def read_usage_factor(
    usage: object,
    conversation: Conversation,
    replay: Replay,
    count_answer: Callable[[Mapping[str, Any]], int],
) -> UsageReading:
    """The factor by which the allowed tokens of this request are to be divided.

    Args:
        usage: what the provider reported for the last request; None or empty for nothing.
        conversation: of this request.
        replay: what is sent of a conversation under a factor.
        count_answer: our count of an answer's text and calls.
    """
    if not usage:
        return UsageReading()
    fields = fields_given(usage) or {}
    read = read_usage(fields)
    prompt = context_tokens(fields, read)
    if read is None or not prompt:
        return UsageReading(warnings=("usage tells no size of a prompt: it was not used",))
    read = replace(read, prompt=prompt)
    told = fields.get(COUNTED_KEY)
    if isinstance(told, int) and not isinstance(told, bool) and told > 0:
        return _reading_of(read, told)
    place = _last_request(conversation)
    if place is None:
        return UsageReading()
    before = Conversation(conversation.raw[:place], conversation.session_id)
    try:
        counted = replay(before, 1.0).tokens
        if not replay(before, CALIBRATION_HIGHEST).whole:  # under another factor it was another one
            ratio = _answer_ratio(fields, read, count_answer(conversation.raw[place]))
            counted = _counted_under(before, replay, read, ratio, counted)
    except BudgetError:
        return UsageReading()  # it was sent in another way, if at all
    return _reading_of(read, counted)


def _reading_of(read: Usage, counted: int) -> UsageReading:
    ratios = Calibration().learn(counted, read).ratios
    if ratios:
        return UsageReading(stepped_factor(ratios[0]))
    if min(counted, read.prompt) < max(counted, read.prompt) // 4:
        far = f"usage reports {read.prompt} tokens where {counted} were counted: it was not used"
        return UsageReading(warnings=(far,))
    return UsageReading()


def _last_request(conversation: Conversation) -> int | None:
    """Place of the newest answer, before which the last request ended; None if there was none."""
    raw = conversation.raw
    place = next((i for i in range(len(raw) - 1, -1, -1) if raw[i].get("role") == "assistant"), 0)
    asked = any(message.get("role") == "user" for message in raw[:place])
    return place if asked else None


def _answer_ratio(usage: Mapping[str, Any], read: Usage, counted: int) -> float | None:
    """Provider's tokens for each of ours, by the answer; None if it says little."""
    hidden = 0
    for holder in ("completion_tokens_details", "output_tokens_details", "output_token_details"):
        details = usage.get(holder)
        if isinstance(details, Mapping):
            for name in ("reasoning_tokens", "reasoning"):
                value = details.get(name)
                hidden = max(hidden, value if type(value) is int else 0)
    written = read.completion - hidden
    if min(written, counted) < _LEAST_ANSWER:
        return None
    ratio = written / counted
    return ratio if 1 / CALIBRATION_HIGHEST <= ratio <= CALIBRATION_HIGHEST else None


def _counted_under(
    before: Conversation, replay: Replay, read: Usage, ratio: float | None, plain: int
) -> int:
    """Our count of what was sent, where that depends on the factor that was in force.

    Without a word of the answer none is taken to have been. Else the one counts that agrees with
    it best: none, or one near the answer's own; if none does, the answer's ratio does.
    """
    if ratio is None:
        return plain
    near = stepped_factor(ratio)
    candidates = {plain}
    for factor in (near - _STEP, near, near + _STEP):
        if 1.0 < factor <= CALIBRATION_HIGHEST:
            candidates.add(replay(before, round(factor, 2)).tokens)
    best = min(sorted(candidates), key=lambda n: abs(math.log(read.prompt / n / ratio)))
    away = read.prompt / best / ratio
    return best if 1 / _NEAR <= away <= _NEAR else math.ceil(read.prompt / ratio)
