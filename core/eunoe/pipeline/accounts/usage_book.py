"""What providers report about our counts and their caches, by model: all that is learnt here."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from eunoe.stages.accounting.billing import billed_use, context_tokens
from eunoe.stages.accounting.cache_hit import CacheRecord, measure_cache
from eunoe.stages.accounting.forecast import RequestForecast
from eunoe.stages.accounting.reading_speed import ReadingSpeed
from eunoe.stages.counting.calibration import (
    Calibration,
    read_usage,
    reports_cache,
    stepped_factor,
)

_MODELS_REMEMBERED = 256
_FRAMING_SLACK = 0.02
"""Share by which a host's own framing may make a count too low: the share of the window that is
left free holds it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRecord:
    """What the reports for one model say: of our counts, the prompt cache, the time to read."""

    calibration: Calibration = field(default_factory=Calibration)
    cache: CacheRecord = field(default_factory=CacheRecord)
    speed: ReadingSpeed = field(default_factory=ReadingSpeed)


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredTurn:
    """What the provider reported for a turn.

    Attributes:
        prompt: tokens of the newest request.
        charged: tokens of all its requests together, tool steps included.
        owed: tokens that were to be expected from the cache, where far fewer came; else 0.
        seconds: that the cache saved a local model, at the speed that its server reported; 0 where
            none is known.
    """

    prompt: int
    charged: int
    owed: int = 0
    seconds: float = 0.0


class UsageBook:
    """How far counts are off and what caches give back, by model; bounded, lost on a restart.

    It holds ratios only, nothing of any chat. Each worker of a host learns for itself: a correction
    that is in force is told in the status line, since another worker may count without it.
    """

    def __init__(self) -> None:
        self._models: OrderedDict[str, ModelRecord] = OrderedDict()
        self._lock = threading.Lock()

    def learn(
        self, model_id: str, counted: int, forecasts: Sequence[RequestForecast], usage: object
    ) -> MeasuredTurn | None:
        """Take in what was reported for a turn; odd values say nothing.

        Args:
            model_id: the host's name of the model.
            counted: our count of its newest request, without a correction.
            forecasts: of all its requests, in order.
            usage: the report, as it came.

        Returns:
            What the report says; None if it does not tell the size of the prompt.
        """
        read = read_usage(usage)
        prompt, billed = context_tokens(usage, read), billed_use(usage, read)
        if read is None or not prompt or billed is None:
            return None
        turn = MeasuredTurn(prompt=prompt, charged=billed.prompt)
        if not model_id or not counted:
            return turn
        with self._lock:
            record = self._models.pop(model_id, ModelRecord())
            record = replace(
                record,
                calibration=record.calibration.learn(counted, read),
                speed=record.speed.learn(usage),
            )
            turn = replace(turn, seconds=record.speed.seconds(billed.cached))
            if forecasts:
                hit = measure_cache(
                    billed,
                    repeated=sum(f.sent.repeated for f in forecasts),
                    counted=sum(f.sent.prompt for f in forecasts),
                )
                promised = replace(hit, expected=round(hit.expected * record.cache.share))
                if promised.missed and reports_cache(usage):
                    turn = replace(turn, owed=promised.expected)
                record = replace(record, cache=record.cache.learn(hit))
            self._models[model_id] = record
            if len(self._models) > _MODELS_REMEMBERED:
                self._models.popitem(last=False)
        return turn

    def factor(self, model_id: str) -> float:
        """``stepped_factor`` for counts of this model; 1 where they are 2 % too low at most."""
        factor = self._record(model_id).calibration.factor
        return stepped_factor(factor, slack=_FRAMING_SLACK)

    def cache_share(self, model_id: str) -> float:
        """Part of a repeated beginning that this model's cache gives back, in [0, 1]."""
        return self._record(model_id).cache.share

    def _record(self, model_id: str) -> ModelRecord:
        with self._lock:
            return self._models.get(model_id, ModelRecord())
