"""A view under construction: which atoms stand in place, which are quoted, and what that weighs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from eunoe.domain.atom import Atom
from eunoe.domain.certificate import BY_RECENCY, Proof
from eunoe.domain.report import Cut, Fate
from eunoe.pipeline.arranging.arrangement import arrange_slots, carry_block, put_block, takes_block
from eunoe.pipeline.arranging.quoted_order import placed_atoms
from eunoe.pipeline.arranging.slots import Slot, SlotMaker
from eunoe.pipeline.arranging.weighing import weigh_slots
from eunoe.pipeline.chat.sent_windows import SentWindow
from eunoe.pipeline.recalling.proving import PickGains
from eunoe.pipeline.recalling.quoted_block import ShownPart, has_words, quotation_of
from eunoe.pipeline.recalling.recall import Scored
from eunoe.pipeline.recalling.shown_summary import ShownSummary
from eunoe.pipeline.request import Request
from eunoe.stages.placement import PlacementZones
from eunoe.wire.openai import media_parts

_CANNOT_STAND = "it cannot stand in the list"
_OPEN_ANSWER = "its question is not in the list"
_NAMED_TOKENS = 6
"""Tokens of the word that names a picture in a quotation, at most."""


@dataclass(slots=True, kw_only=True)
class View:
    """What a policy decided.

    Attributes:
        in_place: atoms to stand in place, the current turn's apart.
        quoted: atoms to stand in the quoted block.
        shortened: places whose text is replaced, with the new text and its fate.
        left_out: first messages of atoms of the current turn that are left out, and pictures that
            are left out of theirs.
        reasons: why some messages met their fate.
        scored: relevance, where there was a question to score against.
        ranked: ``in_place`` was chosen by relevance, so that the least relevant gives way first,
            not the oldest turn.
        parts: what stands in the quoted block in place of a message's whole text.
        carried: atoms that a cut carries over, in a quoted block of their own at the head of the
            window; the window begins at ``carried_before``.
        summary: of what lies before the window; it stands at its head, too.
        start: where the window begins that only grows between cuts; None without one.
        zones: who stands at the head and the tail of the quoted block, by first message; None for
            the order that the settings say.
        unshown: pictures of what cannot stand in the list are only named.
        gains: what each of the chosen atoms brought; None where that is not known.
        cut, recall_reason, certificate, truncated, warnings: for the report.
    """

    in_place: list[Atom]
    quoted: list[Atom] = field(default_factory=list)
    shortened: dict[int, tuple[str, Fate]] = field(default_factory=dict)
    left_out: set[int] = field(default_factory=set)
    reasons: dict[int, str] = field(default_factory=dict)
    scored: Scored | None = None
    ranked: bool = False
    parts: dict[int, ShownPart] = field(default_factory=dict)
    carried: list[Atom] = field(default_factory=list)
    carried_before: int = 0
    summary: ShownSummary | None = None
    start: int | None = None
    zones: PlacementZones | None = None
    cut: Cut | None = None
    recall_reason: str = ""
    certificate: Proof = BY_RECENCY
    gains: PickGains | None = None
    truncated: bool = False
    unshown: bool = False
    warnings: tuple[str, ...] = ()

    def as_sent(self, size: int) -> SentWindow | None:
        """What the next request begins with, if nothing changes; None without a window."""
        if self.start is None:
            return None
        return SentWindow(size, self.start, self.summary.block if self.summary is not None else "")


@dataclass(slots=True, kw_only=True)
class Built:
    """A view as messages: the slots, their tokens with list framing, what was mended.

    Of the slots in ``bounded`` the tokens are an upper bound, not counted. ``quoted`` are the input
    messages in the quoted block, ``parts`` the fates of those shown in part there; those before
    ``summed_up`` stand in the summary. ``reasons`` say why some messages do not stand in place.
    Pictures of what is quoted and ``shown`` stand behind the block.
    """

    slots: list[Slot]
    tokens: int
    mended: list[str]
    quoted: frozenset[int]
    bounded: Sequence[Slot] = ()
    parts: Mapping[int, Fate] = field(default_factory=dict)
    summed_up: int = 0
    reasons: Mapping[int, str] = field(default_factory=dict)
    shown: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class InPlace:
    """The part of a view that stands in place, as slots.

    Attributes:
        slots: in order, before anything is quoted.
        early: atoms that cannot stand at the head of the list, and are quoted first.
        broken: atoms of the current turn that cannot stand in any list, and are quoted last.
        mended: a sentence for each repair.
        reasons: why some messages do not stand in place.
    """

    slots: Sequence[Slot]
    early: Sequence[Atom] = ()
    broken: Sequence[Atom] = ()
    mended: Sequence[str] = ()
    reasons: Mapping[int, str] = field(default_factory=dict)


def stand_in_place(request: Request, view: View) -> InPlace:
    """The slots of what stands in place; it does not depend on what is quoted."""
    maker = SlotMaker(
        raws=request.raws,
        messages=request.messages,
        profile=request.profile,
        read=request.read,
        thinking_mode=request.thinking_mode,
        stripped=request.flags.stripped,
        shortened=view.shortened,
        left_out=view.left_out,
        repeated_ids=request.repeated_ids,
        loose_ids=request.loose_ids,
        late=request.late_results,
        short_ids=request.settings.rewrite_call_ids,
    )
    slots: list[Slot] = []
    broken: list[Atom] = []
    early: list[Atom] = []
    current = [a for a in request.current_atoms if a.first not in view.left_out]
    atoms = unrepeated(request, [*view.in_place, *current], maker)
    behind_calls = maker.late_results_of(atoms)
    for atom in atoms:
        if atom.first in behind_calls:
            continue
        plain = maker.plain_slot(atom)
        if plain is not None:
            slots.append(plain)
            continue
        problem = maker.problem_of(atom)
        if not problem or atom.system:
            slots += maker.slots_of(atom)
        else:
            maker.mended.append(f"[{atom.first}] left out of the list: {problem}")
            maker.reasons.update(dict.fromkeys(atom.indices, f"{_CANNOT_STAND}: {problem}"))
            if atom.first >= request.turn_start:
                broken.append(atom)
    if request.profile.user_first or slots:
        slots, early = _without_open_answers(request, slots)
    reasons = {**maker.reasons, **{i: _OPEN_ANSWER for a in early for i in a.indices}}
    return InPlace(slots=slots, early=early, broken=broken, mended=maker.mended, reasons=reasons)


def build_view(request: Request, view: View, in_place: InPlace | None = None) -> Built:
    """Turn a view into messages that the profile accepts, and count them.

    Args:
        in_place: ``stand_in_place`` of this view, if it is at hand.
    """
    body = in_place if in_place is not None else stand_in_place(request, view)
    slots, mended = list(body.slots), list(body.mended)
    carried = [] if request.profile.alternate else view.carried
    quoted = [*body.early, *([] if carried else view.carried), *view.quoted, *body.broken]
    messages = request.messages
    quoted = [a for a in quoted if messages[a.first].text or has_words(messages, a)]
    summary = view.summary
    if not takes_block(slots, request.question, request.profile):
        quoted, summary = [], None
    shown = [] if view.unshown else [i for a in body.broken if a in quoted for i in a.indices]
    slots = _with_blocks(request, view, slots, quoted, carried, summary, shown)
    quoted += carried
    slots = arrange_slots(slots, request.profile, request.read, mended)
    places = frozenset(chain.from_iterable([a.indices for a in quoted]))
    tokens, bounded = weigh_slots(request, slots)
    return Built(
        slots=slots,
        tokens=tokens,
        bounded=bounded,
        mended=mended,
        quoted=places,
        parts={i: part.fate for i, part in view.parts.items() if i in places},
        summed_up=summary.stop if summary is not None else 0,
        reasons=body.reasons,
        shown=frozenset(shown),
    )


def _with_blocks(
    request: Request,
    view: View,
    slots: list[Slot],
    quoted: Sequence[Atom],
    carried: Sequence[Atom],
    summary: ShownSummary | None,
    shown: Sequence[int],
) -> list[Slot]:
    """The slots with the blocks that are ours: summary and carried atoms, and what is recalled.

    Where roles must alternate, all of it stands in the question.
    """
    heads, most = [], 0
    if summary is not None:
        heads, most = [summary.block], summary.most_tokens
    in_order = placed_atoms(request, quoted, view.zones, view.scored)
    recalled, bound = quotation_of(request, in_order, view.parts)
    if request.profile.alternate and heads:
        recalled, bound = "\n".join([*heads, recalled] if recalled else heads), bound + most
        heads = []
    if carried:
        block, tokens = quotation_of(request, carried)
        heads.append(block)
        most += tokens
    if heads:
        slots = carry_block(
            slots,
            view.carried_before,
            "\n".join(heads),
            request.read,
            fate=Fate.RECALLED if carried else Fate.SUMMARISED,
            most_tokens=most,
        )
    if not recalled:
        return slots
    asked = request.question
    pictures = [part for i in shown for part in media_parts(request.raws[i])]
    return put_block(
        slots,
        asked,
        recalled,
        request.profile,
        request.read,
        most_tokens=bound + _NAMED_TOKENS * len(pictures),
        question_tokens=0 if asked is None else request.entries[asked].tokens,
        shown=pictures,
    )


def unrepeated(request: Request, atoms: Sequence[Atom], maker: SlotMaker) -> list[Atom]:
    """The atoms without those whose content items come again later (Responses-style lists)."""
    if not request.profile.reasoning_pairs:
        return list(atoms)
    seen: set[str] = set()
    kept: list[Atom] = []
    for atom in reversed(atoms):
        ids = [x for i in atom.indices for x in request.messages[i].shape.item_ids]
        if len(set(ids)) < len(ids) or seen.intersection(ids):
            maker.mended.append(f"[{atom.first}] left out: an item id comes twice in the request")
            maker.reasons.update(dict.fromkeys(atom.indices, f"{_CANNOT_STAND}: an item id twice"))
            continue
        seen.update(ids)
        kept.append(atom)
    return kept[::-1]


def _without_open_answers(request: Request, slots: list[Slot]) -> tuple[list[Slot], list[Atom]]:
    """The slots without answers at the head whose question was cut; those go into quotation."""
    asked = next((i for i, m in enumerate(request.messages) if m.role == "user"), None)
    quoted: list[Atom] = []
    while asked is not None:
        early = _answers_at_head(slots, asked)
        atoms = [a for a in _all_atoms(request) if early.intersection(a.indices)] if early else []
        if not atoms or any(a.first >= request.turn_start for a in atoms):
            break
        late = {i for a in atoms for i in request.late_results.get(a.indices[0], {}).values()}
        atoms += [a for a in _all_atoms(request) if a.first in late]
        gone = {i for a in atoms for i in a.indices}
        slots = [s for s in slots if gone.isdisjoint(s.parts) and s.stands_by not in gone]
        quoted += atoms  # with an answer a user's approval may have gone: look again
    return slots, quoted


def _answers_at_head(slots: Sequence[Slot], asked: int) -> set[int]:
    """The messages before the first user of the list that came after the first one of the chat."""
    first_user = next((k for k, s in enumerate(slots) if s.message.role == "user"), len(slots))
    return {
        i
        for s in slots[:first_user]
        if not s.message.is_system and not s.message.is_result and min(s.parts, default=0) > asked
        for i in s.parts
    }


def _all_atoms(request: Request) -> list[Atom]:
    return [*request.atoms_between(0, request.turn_start), *request.current_atoms]
