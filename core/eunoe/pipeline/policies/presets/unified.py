"""The ``unified`` preset: one relevance on one graph, for one budgeted choice.

1. ``r0``: the mean of keyword relevance (BM25 over its maximum, an answer with at least 0.8 of its
   question's) and of the embeddings' cosine over its maximum, where there are any; times base
   weights, 0.5 for calls and results, and ``0.5 + 0.5 * 0.98**age`` in turns unless the question
   points back or names a date; over its maximum.
2. Personalised PageRank over the ties of ``lethe``. It starts from the 8 messages of most ``r0``,
   the question and the turn before it; half of its mass goes to the entities that the question
   names, or to those that "it" or "the file" may stand for.
3. ``r = max(0.01, w r0 + (1-w) rank/max)``, ``w`` as in ``lethe``. What a later message gave
   another value keeps 0.4 of it, unless the past is asked for.
4. The spans of turns that stand out, as in ``dycp``, lift what lies in them to 0.4 of their peak,
   and the turns beside a peak to 0.25 of it.
5. The most coverage of ``(r/max)**2`` under the budget, over whole atoms: greedy by gain over the
   square root of tokens, with Greedy+Max and a certificate.

Where nothing speaks to the question, the last few turns are sent.

Source: the ideas of Lethe, lethes and Lethus joined so that none is applied twice: decay and
entities shape where the walk starts, the walk spreads it, spans lift it, the knapsack spends on it.
"""

from __future__ import annotations

import numpy as np

from eunoe.pipeline.policies.presets.chat import (
    FloatColumn,
    PlaceColumn,
    PresetChat,
    PresetPlan,
    embedded_cosine,
    entity_mentions,
)
from eunoe.pipeline.policies.presets.lethe import (
    certify_candidates,
    lethe_candidates,
    likeness_of,
    with_rank,
)
from eunoe.pipeline.policies.presets.lethe_walk import WALK_RARE, walk_graph
from eunoe.pipeline.policies.presets.spans import newest_turns
from eunoe.stages.scoring.adjusting import share_within_turns, weigh_tool_flow
from eunoe.stages.scoring.cues import CUE_HISTORY
from eunoe.stages.scoring.lexical import okapi_column
from eunoe.stages.scoring.profile import cues_of
from eunoe.stages.selection.candidates import SelectionCandidates
from eunoe.stages.selection.redundancy import estimate_beta_sparse
from eunoe.stages.selection.selecting import Selection, select_items
from eunoe.stages.structure.ghost import ghost_weights
from eunoe.stages.structure.graph import MessageGraph
from eunoe.stages.structure.pagerank import seed_weights
from eunoe.stages.structure.supersede import discount_superseded, stated_values, superseded
from eunoe.stages.structure.waveform import age_decay, lift_spans

UNIFIED_K1 = 1.2
UNIFIED_PAIR_COHERENCE = 0.8
UNIFIED_TOOL_PENALTY = 0.5
UNIFIED_SEEDS = 8
UNIFIED_ENTITY_SHARE = 0.5
UNIFIED_CONTRAST = 2.0


def plan_unified(chat: PresetChat) -> PresetPlan | None:
    """The atoms that cover most of what the question needs; None where none fits."""
    direct = direct_relevance(chat)
    if chat.turns < 2 or not direct.any():
        count = chat.turns if chat.turns < 2 else chat.fallback_turns
        newest = sorted(newest_turns(chat, count))
        reason = "nothing stands out: recency fallback"
        return PresetPlan(chosen=tuple(newest), values=direct, reason=reason) if newest else None
    relevance = unified_relevance(chat, direct)
    scaled = relevance / float(relevance.max())
    worth = chat.per_atom(scaled**UNIFIED_CONTRAST)
    places = lethe_candidates(chat, worth, frozenset())
    if not places.size or chat.room <= 0:
        return None
    selection = select_unified(chat, places, worth)
    if not selection.chosen:
        return None
    return PresetPlan(
        chosen=tuple(places[list(selection.chosen)].tolist()),
        values=scaled,
        reason="what covers most of the question: words, ties, spans and age considered",
        certificate=certify_candidates(chat, places, worth, selection),
    )


def direct_relevance(chat: PresetChat) -> FloatColumn:
    """What words and meaning say of each message, in [0, 1], shape (n,); the best has 1."""
    keyword = okapi_column(chat.matrix, chat.asked, k1=UNIFIED_K1, idf=chat.idf)
    share = UNIFIED_PAIR_COHERENCE if chat.pair_coherence is None else chat.pair_coherence
    signals = [share_within_turns(_over_best(keyword), chat.kinds, chat.turn, share, mutual=False)]
    meaning = embedded_cosine(chat.likeness)
    if meaning is not None:
        signals.append(_over_best(meaning))
    told = [signal for signal in signals if signal.size and float(np.ptp(signal)) > 0.0]
    if not told:
        return np.zeros(chat.size)
    values = sum(told[1:], told[0]) / len(told)
    factor = UNIFIED_TOOL_PENALTY if chat.tool_penalty is None else chat.tool_penalty
    values = weigh_tool_flow(values * chat.base, chat.kinds, factor)
    age = chat.turns - 1 - chat.turn.astype(np.float64)
    return _over_best(values * age_decay(age, off=chat.points_back))


def _over_best(values: FloatColumn) -> FloatColumn:
    top = float(values.max(initial=0.0))
    return values / top if top > 0.0 else values


def unified_relevance(chat: PresetChat, direct: FloatColumn) -> FloatColumn:
    """Direct relevance with what the walk, newer values and spans say, in (0, 1], shape (n,)."""
    graph = walk_graph(chat)
    rank = graph.rank(walk_starts(chat, graph, direct))[: chat.size]
    blended = with_rank(chat, direct, rank)
    overtaken = superseded([stated_values(analysis.asked) for analysis in chat.analyses])
    history = bool(cues_of(chat.query) & CUE_HISTORY)
    return lift_spans(discount_superseded(blended, overtaken, history=history), chat.turn)


def walk_starts(chat: PresetChat, graph: MessageGraph, direct: FloatColumn) -> FloatColumn:
    """Where the walk starts: mass of each node, sum 1.

    Args:
        graph: from ``walk_graph``; the question is the node after the messages.
        direct: relevance of the messages.
    """
    best = np.lexsort((-np.arange(chat.size), -direct))[:UNIFIED_SEEDS]
    last_turn = np.flatnonzero(chat.turn == chat.turns - 1)
    aligned = np.zeros(graph.nodes)
    aligned[: chat.size] = direct
    aligned[chat.size] = 1.0
    messages = seed_weights(aligned, np.unique(np.concatenate([best, last_turn, [chat.size]])))
    everywhere = entity_mentions(chat.entities[:-1])
    mentions = {n: places for n, places in everywhere.items() if len(places) <= WALK_RARE}
    meant = ghost_weights(chat.query.asked, chat.entities[-1], mentions, chat.turn.tolist())
    entities = np.zeros(graph.nodes)
    for name, weight in meant.items():  # what one message alone names has no node of its own
        entities[graph.entities.get(name, mentions[name][0])] += weight
    total = float(entities.sum())
    if total <= 0.0:
        return messages
    share = UNIFIED_ENTITY_SHARE
    return np.asarray((1.0 - share) * messages + share * entities / total)


def select_unified(chat: PresetChat, places: PlaceColumn, worth: FloatColumn) -> Selection:
    """The choice among some atoms, by position.

    Args:
        places: the candidates, ascending.
        worth: contrasted relevance of every atom, shape (m,).
    """
    likeness = likeness_of(chat, places)
    candidates = SelectionCandidates.of(
        worth[places], chat.cost[places], chat.room, similarity=likeness
    )
    return select_items(candidates, beta=estimate_beta_sparse(likeness))
