"""The account of a request: what became of each message, and the numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import overload

import numpy as np
from numpy.typing import NDArray

from eunoe.domain.certificate import ALL_SENT, NoCertificate, Proof, Unproven
from eunoe.domain.ordinals import ordinal
from eunoe.domain.report import Cut, DecisionList, Fate, Overrun, Report
from eunoe.pipeline.arranging.fates import fates_of, reasons_of, usual_reason
from eunoe.pipeline.arranging.view import Built, View
from eunoe.pipeline.arranging.weighing import counted_tokens
from eunoe.pipeline.asked_request import AskedRequest
from eunoe.pipeline.request import Request
from eunoe.stages.accounting.forecast import RequestForecast, provider_forecast
from eunoe.stages.accounting.other_ways import forecast_request
from eunoe.stages.accounting.request_cost import estimated_cost
from eunoe.stages.counting.message_cost import REPLY_PRIMING
from eunoe.stages.quoting import spoken_text
from eunoe.stages.validity import check_messages

_NO_WORDS = "a flag keeps it, but its turn is cut and there are no words to quote"
_NO_ROOM = "a flag keeps it, but the budget has no room for it"


class _MessageSizes(Sequence[int]):
    """Tokens of each message, worked out when looked at.

    Args:
        before: tokens before each finished message, the end included, shape (n + 1,).
        newest: tokens of the others.
    """

    __slots__ = ("_before", "_newest")

    def __init__(self, before: NDArray[np.int64], newest: Sequence[int]) -> None:
        self._before, self._newest = before, newest

    def __len__(self) -> int:
        return len(self._before) - 1 + len(self._newest)

    @overload
    def __getitem__(self, index: int) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> list[int]: ...
    def __getitem__(self, index: int | slice) -> int | list[int]:
        if isinstance(index, slice):
            return [*np.diff(self._before).tolist(), *self._newest][index]
        return self._size(range(len(self))[index])

    def _size(self, place: int) -> int:
        finished = len(self._before) - 1
        if place >= finished:
            return self._newest[place - finished]
        return int(self._before[place + 1] - self._before[place])


def make_report(
    request: Request,
    asked: AskedRequest,
    view: View | None,
    built: Built | None,
    overrun: Overrun | None,
    before: int,
) -> tuple[Report, Callable[[], RequestForecast]]:
    """The account of a request, and what makes its forecast.

    Args:
        asked: what was asked of it.
        view, built: None if the input went through as it was.
        overrun: what did not fit, if it went on anyway.
        before: tokens of the input, list framing included.
    """
    newest = [e.tokens for e in request.entries[request.turn_start :]]
    sizes = _MessageSizes(request.transcript.tokens_before.view(), newest)
    counter, size = request.counter, len(request.entries)
    if view is None or built is None:
        fates, reasons, left_out = dict.fromkeys(range(size), Fate.KEPT), {}, ""
    else:
        fates = fates_of(request, built)
        reasons, left_out = reasons_of(request, view, built, fates), usual_reason(view)
    lost: list[int] = []
    if request.kept_by_flag:
        lost = sorted(i for i in request.kept_by_flag if i not in fates)
        mute = {i for i in lost if not spoken_text(request.messages[i])}
        reasons = {**reasons, **{i: _NO_WORDS if i in mute else _NO_ROOM for i in lost}}
        lost = [i for i in lost if i not in mute]
    scored = view.scored if view is not None else None
    scores: Sequence[float] = scored.values if scored is not None else ()  # type: ignore[assignment]
    sent = before
    if built is not None:
        sent = counted_tokens(request, built.tokens, built.bounded)
    cut, tools = view.cut if view else None, asked.tool_tokens
    foresee = partial(
        _forecast_of, request, sent=sent + tools, tool_tokens=tools, cut=cut, factor=asked.factor
    )
    priced = asked.priced
    report = Report(
        decisions=DecisionList(sizes, fates, scores, reasons, left_out),
        tokens_before=before + tools,
        tokens_after=sent + tools,
        budget=asked.limit,
        tool_tokens=tools,
        reserve=asked.reserve,
        calibrated=asked.factor,
        policy=asked.policy,
        tokenizer=counter.name,
        estimated=not counter.exact,
        profile=request.profile.name,
        cut=cut,
        recalled=0 if built is None else _in_block(fates, built),
        recall_reason=view.recall_reason if view else "",
        proof=_proof_of(request, view, built),
        mended=tuple(built.mended) if built else (),
        warnings=(
            *request.flags.warnings,
            *dict.fromkeys(request.notes),
            *(view.warnings if view else ()),
            *_lost_by_size(lost),
            *_over_budget(overrun),
        ),
        violations=() if built is None else _still_broken(request, built),
        truncated=view.truncated if view else False,
        infeasible=overrun,
        costing=estimated_cost(foresee, priced.prices, priced.model_id, most_usd=priced.usd),
    )
    return report, foresee


def _forecast_of(
    request: Request, *, sent: int, tool_tokens: int, cut: Cut | None, factor: float = 1.0
) -> RequestForecast:
    """The forecast of a request whose list is decided, in the provider's tokens.

    Args:
        sent: tokens of the list that goes out, by our count, like those of the tools.
        cut: where it begins.
        factor: provider's tokens for each of ours.
    """
    forecast = forecast_request(
        request.timeline,
        stop=len(request.entries),
        sent=sent,
        overhead=tool_tokens + REPLY_PRIMING,
        room=None if request.allowed is None else max(0, request.allowed - REPLY_PRIMING),
        start=cut.index if cut is not None else 0,
        fresh_cut=cut is not None and cut.declared,
    )
    return forecast if factor == 1 else provider_forecast(forecast, 0, factor)


def _proof_of(request: Request, view: View | None, built: Built | None) -> Proof:
    if view is None or built is None:
        return ALL_SENT
    if request.allowed is not None and built.tokens > request.allowed:
        return NoCertificate(Unproven.OVER_BUDGET)
    return view.certificate


def _in_block(fates: Mapping[int, Fate], built: Built) -> int:
    """How many messages stand in the quoted block, whole or in part; stubs only name theirs."""
    in_part = sum([fate is not Fate.STUB for fate in built.parts.values()])
    return [*fates.values()].count(Fate.RECALLED) + in_part


def _still_broken(request: Request, built: Built) -> tuple[str, ...]:
    found = check_messages([s.message for s in built.slots], request.profile)
    return tuple(f"[{v.index}] {v.message}" for v in found)


def _over_budget(overrun: Overrun | None) -> tuple[str, ...]:
    if overrun is None:
        return ()
    return (f"what may not be cut takes {overrun.needed} tokens, {overrun.allowed} are allowed",)


def _lost_by_size(lost: Sequence[int]) -> list[str]:
    """What a flag keeps and the budget does not hold, in one sentence."""
    if not lost:
        return []
    named = ", ".join(map(ordinal, lost[:8])) + (", …" if len(lost) > 8 else "")
    return [f"a flag keeps messages that the budget has no room for: the {named}"]
