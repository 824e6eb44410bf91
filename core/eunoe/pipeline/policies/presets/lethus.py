"""The ``lethus`` preset: ``dycp`` on a waveform that fades with age and knows what "it" is.

    s_k = (cosine_k * named_k * words_k + 0.35 * meant_k) * decay_k

* ``named``: 1.2 for turns that hold an entity that the question names, or one that shares a message
  with it.
* ``words``: ``1 + 0.1 m`` for turns that hold m >= 2 terms of the question.
* ``meant``: where the question names nothing and leans on a pronoun or on "the <noun>": the
  entities of the last 8 turns (of that type) that the turn holds, each worth 0.9 for every turn
  since, 3 at most.
* ``decay``: ``0.5 + 0.5 * 0.98**age`` in turns; 1 where the question points back or names a date.

Source: Lethus (dynamic pruning, ghost graph, semantic decay), written anew. Otherwise than there:
the decay is bounded, the named entity itself is lifted too, pronouns are resolved, and thresholds
are DyCP's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from eunoe.pipeline.policies.presets.chat import (
    FloatColumn,
    PlaceColumn,
    PresetChat,
    PresetPlan,
    entity_mentions,
)
from eunoe.pipeline.policies.presets.spans import plan_spans
from eunoe.stages.structure.ghost import ghost_weights
from eunoe.stages.structure.waveform import age_decay

LETHUS_RATE = 0.98
LETHUS_DECAY_FLOOR = 0.5
LETHUS_BOOST = 1.2
LETHUS_TYPE_BONUS = 0.35
LETHUS_MOST_MATCHES = 3.0
LETHUS_WORD_BONUS = 0.1
LETHUS_LEAST_WORDS = 2
LETHUS_RARE = 64
"""Mentions above which an entity tells turns apart no more."""


def plan_lethus(chat: PresetChat) -> PresetPlan | None:
    """The spans of turns that stand out after decay and ghost graph."""
    return plan_spans(
        chat,
        lethus_wave(chat) * chat.turn_base,
        "the spans of turns that stand out, age considered",
    )


def lethus_wave(chat: PresetChat) -> FloatColumn:
    """Relevance of each turn, at least 0, shape (turns,)."""
    everywhere = entity_mentions(chat.entities[:-1])
    mentions = {n: places for n, places in everywhere.items() if len(places) <= LETHUS_RARE}
    named = [name for name in chat.entities[-1] if name in everywhere]
    wave = chat.turn_cosine * word_lift(chat)
    if named:
        wave[lifted_turns(chat, named, mentions)] *= LETHUS_BOOST
    else:
        ghost = ghost_weights(chat.query.asked, (), mentions, chat.turn.tolist())
        wave = wave + LETHUS_TYPE_BONUS * meant_matches(chat, ghost, mentions)
    age = chat.turns - 1 - np.arange(chat.turns, dtype=np.float64)
    off = chat.points_back
    return np.asarray(wave * age_decay(age, rate=LETHUS_RATE, floor=LETHUS_DECAY_FLOOR, off=off))


def lifted_turns(
    chat: PresetChat, named: Sequence[str], mentions: Mapping[str, Sequence[int]]
) -> PlaceColumn:
    """Turns that hold a named entity, or one that shares a message with it; ascending.

    Entities that ``mentions`` leaves out, since they are named everywhere, lift nothing.
    """
    linked = dict.fromkeys(named)
    for name in named:
        for i in mentions.get(name, ()):
            linked.update(dict.fromkeys(chat.entities[i]))
    places = [i for name in linked for i in mentions.get(name, ())]
    return np.unique(chat.turn[np.array(places, dtype=np.int64)])


def word_lift(chat: PresetChat) -> FloatColumn:
    """``1 + 0.1 m`` for turns that hold m >= 2 terms of the question, else 1, shape (turns,)."""
    joined = chat.matrix.joined(chat.turn)
    wanted = chat.asked > 0.0
    held = np.bincount(
        joined.rows, weights=wanted[joined.terms].astype(np.float64), minlength=chat.turns
    )
    return np.asarray(1.0 + LETHUS_WORD_BONUS * np.where(held >= LETHUS_LEAST_WORDS, held, 0.0))


def meant_matches(
    chat: PresetChat, ghost: Mapping[str, float], mentions: Mapping[str, Sequence[int]]
) -> FloatColumn:
    """Weight of the entities that a question may mean, added up by turn, shape (turns,)."""
    out = np.zeros(chat.turns)
    for name, weight in ghost.items():
        out[np.unique(chat.turn[np.array(mentions[name], dtype=np.int64)])] += weight
    return np.minimum(LETHUS_MOST_MATCHES, out)
