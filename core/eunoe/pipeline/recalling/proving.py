"""What is proven of a recall that stayed closed, and of one of which a part had to make room."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from eunoe.domain.certificate import (
    Certificate,
    CertificateBasis,
    DeferredCertificate,
    NoCertificate,
    Proof,
    Unproven,
)
from eunoe.pipeline.recalling.quoted_block import QUOTED_LINE_SAVES
from eunoe.pipeline.recalling.recall import Scored
from eunoe.pipeline.recalling.tiering import forms_compete
from eunoe.pipeline.request import Request
from eunoe.stages.scoring.price import price_relevance
from eunoe.stages.selection.certificate import with_left_out


@dataclass(frozen=True, slots=True, eq=False)
class PickGains:
    """What each atom brought when it was picked.

    Attributes:
        places: of the candidates among all atoms, shape (n,).
        order: candidates in the order of picking; one may stand twice, in two forms.
        gains: what each pick brought.
    """

    places: NDArray[np.int64]
    order: Sequence[int]
    gains: Sequence[float]

    def of(self, atoms: Collection[int]) -> float:
        """What atoms brought together, by their places among all; 0 of what was not picked."""
        picked = zip(self.places[list(self.order)].tolist(), self.gains, strict=True)
        return sum([gain for place, gain in picked if place in atoms])


def prove_closed(request: Request, scored: Scored, start: int, room: int) -> Proof:
    """What is in view, held against the best that the same room could hold; worked out if asked.

    Not where another objective than relevance would have chosen: values that calls may pass, a
    caller's own, or shorter forms.

    Args:
        start: where the window begins.
        room: tokens beside system messages and the current turn.
    """
    if request.acts_by_tools or request.strategies.algorithm is not None or forms_compete(request):
        return NoCertificate(Unproven.UNWEIGHED)
    transcript, apart = request.transcript, [*request.kept_by_flag]
    apart += [i for i in request.flags.by_message if request.dropped_by_flag(i)]
    return DeferredCertificate(
        partial(
            certify_closed,
            scored.values,
            transcript.tokens_before.view()[: request.turn_start + 1],
            transcript.system_tokens_before.view()[: request.turn_start + 1],
            apart=apart,
            cheap=[i for k in transcript.quoted_tokens for i in transcript.atoms[k].indices],
            start=start,
            room=room,
            exponent=request.settings.cost_exponent,
        )
    )


def certify_closed(
    values: NDArray[np.float64],
    before: NDArray[np.int64],
    systems: NDArray[np.int64],
    *,
    apart: Sequence[int],
    cheap: Sequence[int],
    start: int,
    room: int,
    exponent: float,
) -> Certificate:
    """The certificate of what is in view and nothing beside it, each message by itself.

    Args:
        values: relevance of the finished messages, shape (n,).
        before: tokens before each of them, the end included, shape (n + 1,).
        systems: of these, the tokens of system messages, which are no candidates.
        apart: messages that flags decide; they are no candidates.
        cheap: messages that may come back in fewer tokens than they have, such as pictures.
        start: the first message that is in view.
        room: tokens for the candidates.
        exponent: how hard length is priced, in [0, 1].
    """
    cost = np.maximum(1, np.diff(before) - QUOTED_LINE_SAVES)
    cost[list(cheap)] = 1
    worth = price_relevance(values, cost, exponent=exponent)
    worth[np.diff(systems) > 0] = 0.0
    worth[[i for i in apart if i < worth.size]] = 0.0
    value = float(worth[start:].sum())
    nothing = Certificate(value=0.0, upper_bound=0.0)
    bound = with_left_out(nothing, worth, cost, room).upper_bound
    return Certificate(value=value, upper_bound=max(value, bound), basis=CertificateBasis.CLOSED)
