"""Learn, from the usage that providers report, how far a count is off for a model.

Pure values without a clock: a calibration is made from the one before and one more report.

Source: usage fields of the OpenAI and Anthropic interfaces, llama.cpp's ``timings`` and the sums
that Open WebUI makes over the calls of a tool loop. The factor is the median of the newest ratios,
which one wrong report cannot move far.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

CALIBRATION_LOWEST, CALIBRATION_HIGHEST = 0.5, 2.0
# Reports of smaller prompts say more about hidden framing than about text.
CALIBRATION_SMALLEST_PROMPT = 64
CALIBRATION_WINDOW = 9
# A factor that moved a little with every report would move the cut, and cost the prompt cache.
FACTOR_STEPS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What one answer took.

    Attributes:
        prompt: tokens of the whole prompt, cached ones included.
        cached: tokens of the prompt that were read from a cache.
        written: tokens of the prompt that were written to a cache.
        completion: tokens of the answer.
    """

    prompt: int
    cached: int = 0
    written: int = 0
    completion: int = 0


def _whole_number(value: object) -> int | None:
    """A count of tokens, or None for what is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return int(value) if value >= 0 else None


def _first_number(usage: Mapping[Any, Any], *keys: str) -> int | None:
    for key in keys:
        number = _whole_number(usage.get(key))
        if number is not None:
            return number
    return None


def _detail(usage: Mapping[Any, Any], *keys: str) -> int | None:
    for holder in ("prompt_tokens_details", "input_tokens_details", "input_token_details"):
        details = usage.get(holder)
        if isinstance(details, Mapping):
            number = _first_number(details, *keys)
            if number is not None:
                return number
    return None


def _make_usage(prompt: int, cached: int, written: int, completion: int) -> Usage | None:
    if prompt == 0:  # an aborted answer, or a host that fills in zeros
        return None
    return Usage(prompt=prompt, cached=cached, written=written, completion=completion)


def _read_parts(usage: Mapping[Any, Any]) -> Usage | None:
    """Anthropic: fresh, read and written tokens are three parts of the prompt, to be added."""
    read = _first_number(usage, "cache_read_input_tokens")
    written = _first_number(usage, "cache_creation_input_tokens")
    fresh = _first_number(usage, "input_tokens")
    if fresh is None or (read is None and written is None):
        return None
    completion = _first_number(usage, "output_tokens") or 0
    return _make_usage(fresh + (read or 0) + (written or 0), read or 0, written or 0, completion)


def _read_timings(usage: Mapping[Any, Any]) -> Usage | None:
    """llama.cpp: ``prompt_n`` was computed, ``cache_n`` came from the cache."""
    fresh = _first_number(usage, "prompt_n")
    if fresh is None:
        return None
    cached = _first_number(usage, "cache_n")
    prompt = fresh + (cached or 0)
    if cached is None:  # an older server: only its usage knows the whole prompt
        prompt = max(prompt, _first_number(usage, "prompt_tokens") or 0)
    completion = _first_number(usage, "predicted_n", "completion_tokens") or 0
    return _make_usage(prompt, prompt - fresh, 0, completion)


def _read_whole(usage: Mapping[Any, Any]) -> Usage | None:
    """OpenAI and most others: cached tokens are a part of the prompt.

    ``input_tokens`` beside ``prompt_tokens`` is a sum over the calls of a tool loop (Open WebUI);
    the context is the prompt of the last call.
    """
    prompt = _first_number(
        usage,
        "prompt_tokens",
        "input_tokens",
        "prompt_eval_count",
        "prompt_token_count",
        "promptTokenCount",
    )
    if prompt is None:
        return None
    cached = _cached_number(usage)
    written = _detail(usage, "cache_write_tokens", "cache_creation")
    if written is None:
        written = _first_number(usage, "cache_creation_input_tokens")
    cached, written = cached or 0, written or 0
    if (_first_number(usage, "input_tokens") or 0) > prompt:  # the details are sums, too
        cached = min(cached, prompt)
        written = min(written, prompt - cached)
    if cached > prompt:  # a part cannot exceed the whole: the sender leaves cached tokens out
        prompt += cached + written
    completion = _first_number(
        usage,
        "completion_tokens",
        "output_tokens",
        "eval_count",
        "candidates_token_count",
        "candidatesTokenCount",
    )
    return _make_usage(prompt, cached, min(written, prompt), completion or 0)


def _cached_number(usage: Mapping[Any, Any]) -> int | None:
    """Tokens that came from the cache; None if that is not told."""
    cached = _detail(usage, "cached_tokens", "cache_read")
    if cached is not None:
        return cached
    return _first_number(
        usage,
        "cached_tokens",
        "prompt_cache_hit_tokens",
        "cache_read_input_tokens",
        "cached_content_token_count",
        "cachedContentTokenCount",
    )


def _inner_reports(usage: Mapping[Any, Any]) -> list[Mapping[Any, Any]]:
    inner = map(usage.get, ("timings", "usage", "usage_metadata", "usageMetadata"))
    return [report for report in inner if isinstance(report, Mapping)]


def reports_cache(usage: object) -> bool:
    """Whether a report tells what came from the cache, be it nothing; many servers leave it out."""
    if not isinstance(usage, Mapping):
        return False
    return any(
        _cached_number(report) is not None or _first_number(report, "cache_n") is not None
        for report in (usage, *_inner_reports(usage))
    )


def _read_flat(usage: Mapping[Any, Any]) -> Usage | None:
    read = _read_timings(usage)
    if read is None and "prompt_tokens" not in usage:
        read = _read_parts(usage)
    return read or _read_whole(usage)


def read_usage(usage: object) -> Usage | None:
    """Read the usage of an answer, whoever reported it.

    Args:
        usage: the ``usage`` object of an answer, llama.cpp's ``timings``, or a mapping that holds
            them under these names; anything else is not usage.

    Returns:
        The usage, or None if the size of the prompt is not in it. Never raises on odd input.
    """
    if not isinstance(usage, Mapping):
        return None
    read = _read_flat(usage)
    for inner in _inner_reports(usage):
        read = read or _read_flat(inner)
    return read


def stepped_factor(ratio: float, *, slack: float = 0.0) -> float:
    """The factor by which counts are raised, in steps of 0.05, rounded up, in [1, 2].

    It never lowers a count: reports may leave cached tokens out, and too large a request is
    refused, while room that stays unused costs little.

    Args:
        ratio: provider's tokens for each of ours.
        slack: share by which a count may be too low before it is raised.
    """
    if ratio <= 1.0 + slack:
        return 1.0
    steps = math.ceil(round(ratio * FACTOR_STEPS, 6))
    return min(CALIBRATION_HIGHEST, steps / FACTOR_STEPS)


@dataclass(frozen=True, slots=True)
class Calibration:
    """How far counts are off for one model: nothing learned yet, or the newest few reports.

    Attributes:
        ratios: reported tokens per counted token, oldest first; at most 9.
    """

    ratios: tuple[float, ...] = ()

    @property
    def factor(self) -> float:
        """Factor on a count, in [0.5, 2]: the median ratio; a 1 stands in until there are three."""
        ratios = self.ratios if len(self.ratios) >= 3 else (*self.ratios, 1.0)
        return min(CALIBRATION_HIGHEST, max(CALIBRATION_LOWEST, statistics.median(ratios)))

    def learn(self, counted: int, usage: Usage | None) -> Calibration:
        """Take in one report.

        Args:
            counted: our count of the very prompt that was sent, without a calibration: messages,
                priming and tools.
            usage: what the provider reported for it.

        Returns:
            The next calibration; the same one if the report says nothing: no usage, a tiny prompt,
            or numbers too far apart to be about one prompt.
        """
        if usage is None or min(counted, usage.prompt) < CALIBRATION_SMALLEST_PROMPT:
            return self
        ratio = usage.prompt / counted
        if not CALIBRATION_LOWEST / 2 <= ratio <= CALIBRATION_HIGHEST * 2:
            return self
        kept = min(CALIBRATION_HIGHEST, max(CALIBRATION_LOWEST, ratio))
        return Calibration((*self.ratios, round(kept, 4))[-CALIBRATION_WINDOW:])
