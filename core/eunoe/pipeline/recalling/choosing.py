"""What comes back of the candidates, and in which form: whole, in part, as a summary or a stub."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from eunoe.domain.atom import Atom, first_place
from eunoe.domain.certificate import UNSCORED, Certificate, NoCertificate, Proof, Unproven
from eunoe.pipeline.recalling.atom_pools import AtomPool
from eunoe.pipeline.recalling.by_strategy import select_by_strategy
from eunoe.pipeline.recalling.calling import select_for_calls
from eunoe.pipeline.recalling.excerpting import ExcerptPool, fill_with_excerpts
from eunoe.pipeline.recalling.proving import PickGains
from eunoe.pipeline.recalling.quoted_block import ShownPart
from eunoe.pipeline.recalling.recall import Scored
from eunoe.pipeline.recalling.short_forms import ShortForm
from eunoe.pipeline.recalling.tiering import (
    NO_LONG_FORMS,
    LongForms,
    fill_with_forms,
    find_long_forms,
    forms_compete,
    select_by_tiers,
)
from eunoe.pipeline.request import Request
from eunoe.pipeline.summaries.writing import SummaryJob
from eunoe.stages.quoting import BLOCK_TOKENS
from eunoe.stages.scoring.price import price_relevance
from eunoe.stages.selection.certificate import critical_density, with_left_out
from eunoe.stages.selection.selecting import Selection, select_plain


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What was chosen of the older messages.

    Attributes:
        atoms: chosen atoms, oldest first.
        tokens: what they take, quotation included.
        certificate: how good the choice is, or why that is not known.
        forms: shorter forms of what is too long to come back whole.
        due: the summary of an atom that should be written, where summaries are asked for.
        gains: what each atom brought when it was picked; None where that is not known.
    """

    atoms: tuple[Atom, ...] = ()
    tokens: int = 0
    certificate: Proof = UNSCORED
    forms: tuple[ShortForm, ...] = ()
    due: SummaryJob | None = None
    gains: PickGains | None = None

    def in_block(self) -> list[Atom]:
        """The chosen atoms and those shown in a shorter form, oldest first."""
        return sorted([*self.atoms, *(f.atom for f in self.forms)], key=first_place)

    def parts(self) -> dict[int, ShownPart]:
        """What stands in place of the text of the messages shown in a shorter form."""
        return {i: part for form in self.forms for i, part in form.parts().items()}


def choose_atoms(
    request: Request, scored: Scored, pool: AtomPool, budget: int, *, quoted: bool
) -> Choice:
    """The knapsack over atoms: the most relevance that fits in the budget.

    Args:
        pool: the candidates, from ``atom_pool``.
        budget: tokens.
        quoted: whether the choice will stand in a quoted block, which has its own framing.
    """
    room = budget - BLOCK_TOKENS if quoted else budget
    if room <= 0 or not len(pool.places):
        why = Unproven.NO_ROOM if room <= 0 else Unproven.IRRELEVANT
        return Choice(certificate=NoCertificate(why))
    algorithm, long = request.strategies.algorithm, NO_LONG_FORMS
    exponent = request.settings.cost_exponent
    if forms_compete(request):
        long = find_long_forms(request, scored, pool)
    by_values = algorithm is None and request.acts_by_tools
    if long.forms and not by_values and budget > BLOCK_TOKENS:
        if algorithm is not None:
            elements = long.elements(pool.cost)
            selection = select_by_strategy(
                request, algorithm, pool, elements, budget - BLOCK_TOKENS
            )
        else:
            selection = select_by_tiers(pool, long, budget - BLOCK_TOKENS, room, exponent)
        whole, forms = long.split(selection)
        gains = PickGains(pool.places, selection.order, selection.gains)
        choice = _choice_of(request, pool, whole, forms, selection.certificate, quoted)
        return replace(choice, due=long.due, gains=gains if algorithm is None else None)
    if algorithm is not None:
        selection = select_by_strategy(request, algorithm, pool, pool.cost, room)
    elif by_values:
        selection = select_for_calls(request, pool, room)
    else:
        selection = _select_relevant(pool, room, exponent)
    return _with_parts(request, scored, pool, selection, long, budget, quoted)


def _with_parts(
    request: Request,
    scored: Scored,
    pool: AtomPool,
    selection: Selection,
    long: LongForms,
    budget: int,
    quoted: bool,
) -> Choice:
    """The chosen atoms, and shorter forms of others in the room that they leave."""
    left = budget - BLOCK_TOKENS - int(selection.cost)
    forms: tuple[ShortForm, ...] = ()
    gone: frozenset[int] = frozenset()
    if "gist" in request.settings.recall_tiers:
        parts = ExcerptPool(
            pool.places, pool.worth, pool.cost, selection.chosen, scored.values, scored.answer
        )
        forms, gone = fill_with_excerpts(request, parts, left)
    whole = [k for k in selection.chosen if k not in gone] if gone else list(selection.chosen)
    gains = PickGains(pool.places, selection.order, selection.gains)
    certificate = selection.certificate
    if gone:
        certificate = certificate.without(gains.of({int(pool.places[k]) for k in gone}))
    if long.forms:
        left = budget - BLOCK_TOKENS - int(pool.cost[whole].sum()) - sum(f.tokens for f in forms)
        holder = request.transcript.atom_of_message.view()
        in_part = [int(pool.places.searchsorted(holder[f.atom.first])) for f in forms]
        forms += fill_with_forms(long, {*whole, *in_part}, left)
    choice = _choice_of(request, pool, whole, forms, certificate, quoted)
    own = request.strategies.algorithm is None
    return replace(choice, due=long.due, gains=gains if own else None)


def _choice_of(
    request: Request,
    pool: AtomPool,
    whole: Sequence[int],
    forms: tuple[ShortForm, ...],
    certificate: Certificate,
    quoted: bool,
) -> Choice:
    atoms = request.transcript.atoms
    head = BLOCK_TOKENS if forms or (quoted and whole) else 0
    return Choice(
        atoms=tuple([atoms[k] for k in pool.places[whole].tolist()]),
        tokens=int(pool.cost[whole].sum()) + sum(f.tokens for f in forms) + head,
        certificate=certificate,
        forms=forms,
    )


def _select_relevant(pool: AtomPool, room: int, exponent: float) -> Selection:
    utility = price_relevance(pool.worth, pool.cost, exponent=exponent)
    selection = select_plain(utility, pool.cost, room)
    if (others := pool.left_out) is None:
        return selection
    certificate = with_left_out(
        selection.certificate,
        price_relevance(others.worth, others.cost, exponent=exponent),
        others.cost,
        room,
        density=critical_density(utility, pool.cost, room),
    )
    return replace(selection, certificate=certificate)
