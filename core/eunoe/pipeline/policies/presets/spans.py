"""Spans of turns under a budget: best span first, split at a message where it is too large."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from eunoe.domain.certificate import BY_RECENCY, Certificate, NoCertificate
from eunoe.pipeline.policies.presets.chat import FloatColumn, PresetChat, PresetPlan
from eunoe.stages.selection.certificate import certify, fractional_fill
from eunoe.stages.structure.waveform import gain_wave, standing_spans

SPAN_SILENCE = 1e-9


def plan_spans(chat: PresetChat, wave: FloatColumn, reason: str) -> PresetPlan | None:
    """The turns of the spans that stand out of a waveform, by time.

    With fewer than two turns all of them, if they fit; where nothing speaks to the question, the
    last few turns.

    Args:
        wave: relevance of each turn, at least 0, shape (turns,).
        reason: for the report.

    Returns:
        None where nothing that was found fits.

    Source of formula: DyCP 2601.07994, sections 3 and 5.4: ``z = (s - mean)/deviation``,
    ``g = z - 0.6``, spans of maximal sum while the sum is at least 1.
    """
    top = float(wave.max(initial=0.0))
    values = (wave / top if top > 0.0 else wave)[chat.turn]
    spans = standing_spans(wave)
    if chat.turns < 2 or top < SPAN_SILENCE or not spans:
        count = chat.turns if chat.turns < 2 else chat.fallback_turns
        chosen = newest_turns(chat, count)
        reason = "nothing stands out: recency fallback"
        certificate: Certificate | NoCertificate = BY_RECENCY
    else:
        chosen = fill_spans(chat, wave, spans)
        certificate = certify_spans(chat, wave, chosen)
    if not chosen:
        return None
    return PresetPlan(
        chosen=tuple(sorted(chosen)), values=values, reason=reason, certificate=certificate
    )


def certify_spans(chat: PresetChat, wave: FloatColumn, chosen: Sequence[int]) -> Certificate:
    """How much of the gain that a budget could hold was chosen.

    The gain of a turn is that of its wave, ``z - 0.6``; of a turn sent in part, as much of it as of
    its tokens. A span that holds a weak turn loses by it.
    """
    gains = gain_wave(wave)
    turn, cost = chat.turn_of_atom, chat.cost.astype(np.float64)
    whole = np.bincount(turn[chat.open], cost[chat.open], minlength=chat.turns)
    taken = np.bincount(turn[chosen], cost[chosen], minlength=chat.turns)
    open_turns = whole > 0.0
    share = taken[open_turns] / whole[open_turns]
    worth = (gains > 0.0) & open_turns
    bound = (
        fractional_fill(gains[worth], whole[worth].astype(np.float64), chat.room)
        if worth.any()
        else 0.0
    )
    return certify(max(0.0, float((gains[open_turns] * share).sum())), bound)


def newest_turns(chat: PresetChat, count: int) -> list[int]:
    """The atoms of the last ``count`` turns, the newest turn first, while whole turns fit."""
    chosen: list[int] = []
    left = chat.room
    for turn in range(chat.turns - 1, max(-1, chat.turns - 1 - count), -1):
        atoms = chat.atoms_of_turn(turn)
        left -= sum(int(chat.cost[k]) for k in atoms)
        if left < 0:
            break
        chosen += atoms
    return chosen


def fill_spans(
    chat: PresetChat, wave: FloatColumn, spans: Sequence[tuple[int, int, float]]
) -> list[int]:
    """Whole spans, those of largest sum first (the newest among equals), as far as the room goes.

    A span larger than the room left gives the run of its atoms around its best turn that fits.
    """
    chosen: list[int] = []
    left = chat.room
    for first, last, _ in sorted(spans, key=lambda s: (-s[2], -s[1])):
        atoms = [k for turn in range(first, last + 1) for k in chat.atoms_of_turn(turn)]
        cost = [int(chat.cost[k]) for k in atoms]
        if sum(cost) > left:
            best = max(range(first, last + 1), key=lambda turn: (float(wave[turn]), turn))
            start = next((j for j, k in enumerate(atoms) if chat.turn_of_atom[k] >= best), 0)
            low, high = run_that_fits(cost, start, left)
            atoms, cost = atoms[low:high], cost[low:high]
        chosen += atoms
        left -= sum(cost)
    return chosen


def run_that_fits(cost: Sequence[int], start: int, room: int) -> tuple[int, int]:
    """The run around ``start`` that fits: it grows onwards as far as it can, then backwards.

    Returns:
        Half-open range, empty if not even ``start`` fits.
    """
    low = high = start
    while high < len(cost) and cost[high] <= room:
        room -= cost[high]
        high += 1
    while high > start and low > 0 and cost[low - 1] <= room:
        low -= 1
        room -= cost[low]
    return low, high
