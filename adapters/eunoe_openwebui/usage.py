"""What providers report about our counts, by model: the one thing learnt between requests."""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from eunoe.stages.accounting.billing import billed_use, context_tokens
from eunoe.stages.accounting.list_prices import list_prices
from eunoe.stages.accounting.price import PICODOLLARS, request_cost
from eunoe.stages.counting.calibration import Calibration, read_usage

_MODELS_REMEMBERED = 256
# A factor that moves a little with every answer would move the cut, and cost the prompt cache.
_FACTOR_STEPS = 20
_FACTOR_IGNORED = 1.02


class UsageBook:
    """How far counts fall short of what providers charge, by model; bounded, lost on a restart.

    It holds ratios only, nothing of any chat.
    """

    def __init__(self) -> None:
        self._models: OrderedDict[str, Calibration] = OrderedDict()
        self._lock = threading.Lock()

    def learn(self, model_id: str, counted: int, usage: object) -> None:
        """Take in what was reported for a request that we counted; odd values say nothing."""
        if not model_id or not counted:
            return
        read = read_usage(usage)
        with self._lock:
            before = self._models.pop(model_id, Calibration())
            self._models[model_id] = before.learn(counted, read)
            if len(self._models) > _MODELS_REMEMBERED:
                self._models.popitem(last=False)

    def factor(self, model_id: str) -> float:
        """Factor on a count of this model, in steps of 0.05, at least 1.

        Counts that are too high only leave some room unused, so they are not corrected.
        """
        with self._lock:
            factor = self._models.get(model_id, Calibration()).factor
        return (
            1.0 if factor <= _FACTOR_IGNORED else math.ceil(factor * _FACTOR_STEPS) / _FACTOR_STEPS
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredTurn:
    """What the provider reported for a turn.

    Attributes:
        prompt: tokens of the newest request.
        charged: tokens of all its requests together, tool steps included.
        cached: of these, read from the prompt cache.
        dollars: what the turn cost by the list price; 0 if none is known.
    """

    prompt: int
    charged: int
    cached: int
    dollars: float


def measure_turn(usage: object, model_id: str) -> MeasuredTurn | None:
    """The report, read; None if it does not tell the size of the prompt."""
    read = read_usage(usage)
    prompt, billed = context_tokens(usage, read), billed_use(usage, read)
    if not prompt or billed is None:
        return None
    price = list_prices().get(model_id)
    dollars = request_cost(price, billed) / PICODOLLARS if price is not None else 0.0
    return MeasuredTurn(prompt=prompt, charged=billed.prompt, cached=billed.cached, dollars=dollars)


def reported_usage(body: Mapping[str, Any]) -> object:
    """Usage of the newest answer, as the host hands it to `outlet`; None if there is none."""
    messages = body.get("messages")
    newest = messages[-1] if isinstance(messages, list) and messages else None
    return newest.get("usage") if isinstance(newest, Mapping) else None
