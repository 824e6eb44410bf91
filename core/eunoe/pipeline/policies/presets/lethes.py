"""The ``lethes`` preset: smart keyword weights, lifted by recency, filled greedily, in place.

    weight_i = base_i * min(1, tool_i * max(keyword_i, 0.8 * question's keyword)) * (1 + 2 i/(n-1))

with ``keyword = max(0.05, BM25Okapi/max)``, all 1 where nothing matches, and ``tool_i = 0.5`` for
calls and results. Atoms are taken by falling weight, the newest first among equals, while they fit.

Source: lethes 1.0 (SmartWeightingStrategy, RecencyBiasedAlgorithm), written anew. Otherwise than
there: the question is no document of its own search, an answer inherits over tool steps too, calls
and results are one unit, and the budget is exact.
"""

from __future__ import annotations

import numpy as np

from eunoe.pipeline.policies.presets.chat import FloatColumn, PresetChat, PresetPlan
from eunoe.stages.scoring.adjusting import share_within_turns, weigh_tool_flow
from eunoe.stages.scoring.lexical import okapi_column
from eunoe.stages.selection.candidates import SelectionCandidates
from eunoe.stages.selection.strategies import GreedyByWeightAlgorithm

LETHES_FLOOR = 0.05
LETHES_PAIR_COHERENCE = 0.8
LETHES_TOOL_PENALTY = 0.5
LETHES_RECENCY = 2.0


def smart_weights(chat: PresetChat) -> FloatColumn:
    """Keyword weight with pair coherence and tool penalty, in [0, 1], shape (n,)."""
    found = okapi_column(chat.matrix, chat.asked)
    top = float(found.max(initial=0.0))
    keyword = np.maximum(LETHES_FLOOR, found / top) if top > 0.0 else np.ones(chat.size)
    share, factor = chat.pair_coherence, chat.tool_penalty
    shared = share_within_turns(
        keyword,
        chat.kinds,
        chat.turn,
        LETHES_PAIR_COHERENCE if share is None else share,
        mutual=False,
    )
    weighed = weigh_tool_flow(shared, chat.kinds, LETHES_TOOL_PENALTY if factor is None else factor)
    return np.asarray(np.minimum(1.0, weighed))


def recency_lift(size: int, factor: float = LETHES_RECENCY) -> FloatColumn:
    """``1 + factor * i/(n-1)``: the oldest counts once, the newest ``1 + factor`` times."""
    return np.asarray(1.0 + factor * np.arange(size, dtype=np.float64) / max(size - 1, 1))


def plan_lethes(chat: PresetChat) -> PresetPlan | None:
    """The heaviest atoms that fit; None where there is nothing to choose from."""
    weights = chat.base * smart_weights(chat) * recency_lift(chat.size)
    places = np.flatnonzero(chat.open)
    if not places.size or chat.room <= 0:
        return None
    heavy = chat.per_atom(weights)[places]
    candidates = SelectionCandidates.of(heavy, chat.cost[places], chat.room)
    selection = GreedyByWeightAlgorithm(prefer_summarize=False).select(candidates)
    if not selection.chosen:
        return None
    return PresetPlan(
        chosen=tuple(places[list(selection.chosen)].tolist()),
        values=np.minimum(1.0, weights / (1.0 + LETHES_RECENCY)),
        reason="the heaviest messages by keyword and recency",
        certificate=selection.certificate,
    )
