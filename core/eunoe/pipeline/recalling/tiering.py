"""One choice over all forms: whole, summary, excerpt or stub, each worth what it keeps.

Where the settings ask for summaries or stubs, a long message competes in each form that it has, see
``selection.tiers``; else excerpts alone fill the room that whole messages leave over.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from eunoe.domain.certificate import Certificate
from eunoe.pipeline.recalling.atom_pools import AtomPool
from eunoe.pipeline.recalling.excerpting import excerpt_of, most_relevant_long
from eunoe.pipeline.recalling.recall import Scored
from eunoe.pipeline.recalling.short_forms import (
    ShortForm,
    own_summary_job,
    own_summary_of,
    stub_of,
)
from eunoe.pipeline.request import Request
from eunoe.pipeline.summaries.writing import SummaryJob
from eunoe.stages.scoring.price import price_relevance
from eunoe.stages.selection.candidates import SelectionCandidates
from eunoe.stages.selection.certificate import certify, fractional_fill, with_left_out
from eunoe.stages.selection.selecting import Selection, select_items
from eunoe.stages.selection.tiers import Tier, TierElements, tier_elements

_LONG_CANDIDATES = 12
"""Long messages that compete in shorter forms, too: to cut an excerpt takes about a millisecond."""


@dataclass(frozen=True, slots=True)
class LongForms:
    """The shorter forms that are to be had.

    Attributes:
        forms: by candidate, then by tier.
        due: the summary of the most relevant one that has none yet.
    """

    forms: Mapping[int, Mapping[Tier, ShortForm]] = field(default_factory=dict)
    due: SummaryJob | None = None

    def elements(self, cost: NDArray[np.int64]) -> TierElements:
        """All forms of all candidates.

        Args:
            cost: shape (n,), tokens of the candidates whole.
        """
        columns = np.zeros((len(Tier), cost.size), dtype=np.int64)
        for k, forms in self.forms.items():
            for tier, form in forms.items():
                columns[tier, k] = form.tokens
        return tier_elements(
            cost, summary=columns[Tier.SUMMARY], gist=columns[Tier.GIST], stub=columns[Tier.STUB]
        )

    def split(self, selection: Selection) -> tuple[list[int], tuple[ShortForm, ...]]:
        """The candidates of a choice that are shown whole, and the forms of the others."""
        picked = list(zip(selection.chosen, selection.tiers, strict=True))
        short = tuple(self.forms[k][tier] for k, tier in picked if tier is not Tier.VERBATIM)
        return [k for k, tier in picked if tier is Tier.VERBATIM], short


NO_LONG_FORMS = LongForms()


def forms_compete(request: Request) -> bool:
    """Whether all forms compete, since the settings ask for more than excerpts."""
    return bool({"summary", "stub"}.intersection(request.settings.recall_tiers))


def find_long_forms(request: Request, scored: Scored, pool: AtomPool) -> LongForms:
    """The shorter forms of the most relevant long candidates, as far as the settings ask for them.

    An own summary stands for exactly its atom, wherever that stands; the summary of the beginning
    of a chat stands for no atom, and is none of these.
    """
    forms: dict[int, dict[Tier, ShortForm]] = {}
    due: SummaryJob | None = None
    tiers, atoms = request.settings.recall_tiers, request.transcript.atoms
    for k in most_relevant_long(pool.worth, pool.cost, _LONG_CANDIDATES):
        atom = atoms[pool.places[k]]
        found: list[ShortForm | None] = []
        if "gist" in tiers and scored.answer is not None:
            weights = dict(scored.answer.profile.weights)
            found.append(excerpt_of(request, atom, scored.values, weights))
        if "summary" in tiers:
            found.append(own_summary_of(request, atom))
            if found[-1] is None and due is None:
                due = own_summary_job(request, atom)
        if "stub" in tiers:
            found.append(stub_of(request, atom))
        known = {form.tier: form for form in found if form is not None}
        if known:
            forms[k] = known
    return LongForms(forms, due)


def select_by_tiers(
    pool: AtomPool, long: LongForms, room: int, most: int, exponent: float
) -> Selection:
    """The most odds of relevance, times what a form keeps of them, within the room.

    Args:
        room: tokens where a quoted block is opened.
        most: tokens where none is; the certificate speaks of both.
        exponent: how hard length is priced, in [0, 1].
    """
    odds = price_relevance(pool.worth, pool.cost, exponent=0.0)
    candidates = SelectionCandidates.of(odds, long.elements(pool.cost), room)
    selection = select_items(candidates, exponent=exponent)
    return replace(selection, certificate=_certified(selection.certificate, pool, odds, most))


def _certified(
    certificate: Certificate, pool: AtomPool, odds: NDArray[np.float64], most: int
) -> Certificate:
    """The certificate that whole messages without a block, and those not looked at, cannot pass."""
    usable = (pool.cost <= most) & (odds > 0.0)
    whole = 0.0
    if usable.any():
        whole = fractional_fill(odds[usable], pool.cost[usable].astype(np.float64), most)
    certificate = certify(certificate.value, max(certificate.upper_bound, whole))
    if (others := pool.left_out) is None:
        return certificate
    left_out = price_relevance(others.worth, others.cost, exponent=0.0)
    return with_left_out(certificate, left_out, others.cost, most)


def fill_with_forms(long: LongForms, shown: Collection[int], room: int) -> tuple[ShortForm, ...]:
    """Summaries and stubs of what is not shown, the most relevant first, as far as the room goes.

    Args:
        shown: candidates that are shown in some form, as places among the candidates.
        room: tokens that are left, the head of the block paid.
    """
    found: list[ShortForm] = []
    for forms in (long.forms[k] for k in long.forms if k not in shown):
        known = [forms[tier] for tier in (Tier.SUMMARY, Tier.STUB) if tier in forms]
        fitting = next((form for form in known if form.tokens <= room), None)
        if fitting is not None:
            found.append(fitting)
            room -= fitting.tokens
    return tuple(found)
