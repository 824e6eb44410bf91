"""What a question means without saying it: pronouns, two hops, newer values, repeated texts.

Each works only where the question, or the history, gives the cue; elsewhere nothing changes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import takewhile

import numpy as np
from numpy.typing import NDArray

from eunoe.pipeline.advisers.structuring import NamesOf
from eunoe.pipeline.chat.transcript import Transcript
from eunoe.stages.scoring.analysis import TextAnalysis
from eunoe.stages.scoring.cues import CUE_ANAPHOR, CUE_HISTORY
from eunoe.stages.scoring.profile import Relevance
from eunoe.stages.scoring.word_tables import WORD_QUESTIONS
from eunoe.stages.scoring.words import terms_of_text
from eunoe.stages.selection.ordering import largest_places
from eunoe.stages.structure.ghost import GHOST_TURNS, ghost_weights, stand_ins
from eunoe.stages.structure.supersede import discount_superseded, superseded

_LIFT_LOOK = 48
"""Messages of most relevance that are looked at."""
_LIFT_SEEDS = 3
"""Best messages from which a second hop starts."""
_LIFT_RARE = 4
"""Messages that hold a word or a name, at most, for it to tie two of them."""
_LIFT_SHORT = 40
"""Terms of a message, at most, that states one thing."""
_LIFT_REPEATED = 0.05
"""Share of its relevance that a repeated or overtaken message keeps."""
_LIFT_PRONOUN = 8.0
"""Factor on the odds of what names the one thing that a pronoun may stand for."""
_LIFT_CHAIN = 16.0
"""Factor on the odds of the second message of a chain."""
_LIFT_CHAIN_CAP = 0.9
"""Share of the first message's relevance that the second one gets at most."""
_LIFT_MOST_OF_IT = 0.5
"""Share of the question's weight that is most of it."""
_LIFT_ALL_OF_IT = 0.9
"""Share of the question's weight that is nearly all of it."""
_LIFT_PART_OF_IT = 0.3, 0.95
"""Shares of the question's weight: what holds less is no seed, what holds more lacks nothing."""
_LIFT_READ_CHARACTERS = 2_000
"""Of a message, from its beginning, in which numbers are looked for."""
_LIFT_NOW = re.compile(
    r"\b(?:now|currently|current|latest|at the moment|these days|by now|jetzt|aktuell\w*|derzeit"
    r"|inzwischen|ahora|actual\w*|maintenant|agora|adesso|attual\w*|сейчас|теперь)\b"
    r"|现在|目前|最新|如今|今の|現在|지금|현재",
    re.IGNORECASE,
)
_LIFT_BEFORE = re.compile(
    r"ursprünglich|anfangs|zuerst|al principio|originalmente|au début|最初|原来"
)
_LIFT_NUMBER = re.compile(r"\d[\d.,:/%-]*")


def lift_by_cues(
    transcript: Transcript,
    query: TextAnalysis,
    answer: Relevance,
    values: NDArray[np.float64],
    names_of: NamesOf | None = None,
) -> NDArray[np.float64]:
    """The relevance with what the question leaves unsaid taken into account.

    Args:
        values: shape (n,), in [0, 1]; returned as they are where no cue is found.
        names_of: names in some messages that our own analysis may not find, folded; the place n
            stands for the question.
    """
    if not values.any():
        return values
    look = largest_places(values, _LIFT_LOOK)
    look = look[values.take(look) > 0.0]
    lifted = _without_repeats(transcript, look, values)
    asked = query.asked
    if _asks_of_now(asked):
        history = answer.profile.cues & CUE_HISTORY or _LIFT_BEFORE.search(asked)
        lifted = _newer_first(transcript, answer, look, lifted, history=bool(history))
    if _leans_on_pronoun(query, answer):
        lifted = _meant_by_pronoun(transcript, query, answer, lifted, names_of)
    return _second_hop(transcript, answer, look, lifted, names_of)


@lru_cache(maxsize=32)
def _asks_of_now(asked: str) -> bool:
    """Whether a question is after what holds now; each step of a turn has the same question."""
    return _LIFT_NOW.search(asked) is not None


def _without_repeats(
    transcript: Transcript, look: NDArray[np.int64], values: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Of the same text said again and again the newest counts."""
    places = look[::-1].tolist()
    said = [transcript.entries[i].message for i in places]
    if len({m.text for m in said}) == len(said):
        return values
    seen: set[str] = set()
    again: list[int] = []
    for i, message in zip(places, said, strict=True):
        if message.text in seen and not message.calls:
            again.append(i)
        seen.add(message.text)
    if not again:
        return values
    lifted = values.copy()
    lifted[again] *= _LIFT_REPEATED
    return lifted


def _newer_first(
    transcript: Transcript,
    answer: Relevance,
    look: NDArray[np.int64],
    values: NDArray[np.float64],
    *,
    history: bool,
) -> NDArray[np.float64]:
    """Of statements with the same words of the question and other numbers the newest counts.

    Where the past is asked for, the oldest counts too.
    """
    weights = dict(answer.profile.weights)
    least = _LIFT_MOST_OF_IT * sum(weights.values())
    stated: list[dict[str, str]] = []
    for i in look.tolist():
        entry = transcript.entries[i]
        held = sorted(weights.keys() & set(entry.analysed().terms))
        thing = " ".join(held) if sum(weights[t] for t in held) >= least else ""
        numbers = _LIFT_NUMBER.findall(entry.message.text[:_LIFT_READ_CHARACTERS])
        short = entry.analysed().length <= _LIFT_SHORT
        stated.append({thing: " ".join(numbers)} if thing and numbers and short else {})
    overtaken = np.zeros(len(values), dtype=bool)
    overtaken[look] = superseded(stated)
    if history:
        first: dict[str, int] = {}
        for i, things in zip(look.tolist(), stated, strict=True):
            for thing in things:
                first.setdefault(thing, i)
        overtaken[list(first.values())] = False
    return discount_superseded(values, overtaken, share=1.0 - _LIFT_REPEATED)


def _leans_on_pronoun(query: TextAnalysis, answer: Relevance) -> bool:
    """Whether a question has a pronoun, or "the file", and no name.

    The capital of "¿Cuándo" makes none.
    """
    if _says_name(query.entities):
        return False
    return answer.profile.cues & CUE_ANAPHOR != 0 or bool(_stand_ins_of(query.asked))


@lru_cache(maxsize=32)
def _stand_ins_of(asked: str) -> tuple[str, ...]:
    """Each step of a turn has the same question."""
    return stand_ins(asked)


def _says_name(names: Sequence[str]) -> bool:
    return any(name not in WORD_QUESTIONS for name in names)


def _meant_by_pronoun(
    transcript: Transcript,
    query: TextAnalysis,
    answer: Relevance,
    values: NDArray[np.float64],
    names_of: NamesOf | None,
) -> NDArray[np.float64]:
    """Raise what says most of the question and names what the pronoun may stand for.

    The words that stand for it are no part of what is to be said: no message on "parse_logs.py"
    need have the word "file".
    Without "most" a question with words enough of its own ("how long did I work on those sheets?")
    would raise every message that names something recent. The more there is that the pronoun may
    stand for, the less each counts: it stands for one of them.
    """
    size = len(values)
    turns = transcript.turn_of_message.view()[:size].tolist()
    places = _recent_places(turns)
    recent = dict.fromkeys(n for i in places for n in transcript.entries[i].analysed().entities)
    if names_of is not None:
        *found, asked_names = names_of([*places, size])
        if _says_name(asked_names):
            return values
        recent.update(dict.fromkeys(name for names in found for name in names))
    if not recent:
        return values
    mentions = _mentions_of(transcript, list(recent), size)
    weights = ghost_weights(query.asked, (), mentions, turns)
    pointing = {t for word in _stand_ins_of(query.asked) for t in terms_of_text(word)}
    asked = {t: w for t, w in answer.profile.weights if t not in pointing}
    least = _LIFT_MOST_OF_IT * sum(asked.values())
    rare = {name: w for name, w in weights.items() if len(mentions[name]) <= _LIFT_RARE}
    if not asked or not rare:
        return values
    scale = _LIFT_PRONOUN / max(1.0, sum(rare.values()))
    lifted = values.copy()
    for name, weight in rare.items():
        for i in mentions[name]:
            held = asked.keys() & set(transcript.entries[i].analysed().terms)
            if held and sum(asked[t] for t in sorted(held)) >= least:
                lifted[i] = max(lifted[i], _raised(values[i], scale * weight))
    return lifted


def _mentions_of(transcript: Transcript, names: Sequence[str], size: int) -> dict[str, list[int]]:
    """The messages that hold all the words of each name."""
    terms = {name: terms_of_text(name) for name in names}
    wanted = list(dict.fromkeys(t for held in terms.values() for t in held))
    holders = dict(zip(wanted, transcript.index.holders(wanted, size), strict=True))
    return {
        name: sorted(set.intersection(*(set(holders[t]) for t in held))) if held else []
        for name, held in terms.items()
    }


def _raised(value: float, factor: float) -> float:
    """A relevance with its odds multiplied."""
    odds = factor * value / max(1e-12, 1.0 - value)
    return odds / (1.0 + odds)


def _recent_places(turns: Sequence[int]) -> list[int]:
    """The messages of the last few turns, the newest first."""
    newest = range(len(turns) - 1, -1, -1)
    return list(takewhile(lambda i: turns[-1] - turns[i] < GHOST_TURNS, newest))


def _second_hop(
    transcript: Transcript,
    answer: Relevance,
    look: NDArray[np.int64],
    values: NDArray[np.float64],
    names_of: NamesOf | None,
) -> NDArray[np.float64]:
    """Raise the message that a rare word ties to the best one, where neither holds all by itself.

    "Where does my sister live?": "my sister is called Ingrid", "Ingrid lives in Kiel".
    """
    weights = dict(answer.profile.weights)
    size, total = len(values), sum(weights.values())
    best = look.take((-values.take(look)).argsort(kind="stable")[:_LIFT_SEEDS]).tolist()
    if len(weights) < 2 or not best:
        return values
    seeds: dict[int, set[str]] = {}
    least, most = _LIFT_PART_OF_IT
    for seed in best:
        analysis = transcript.entries[seed].analysed()
        held = {t for t in analysis.terms if t in weights}
        share = sum(weights[t] for t in sorted(held)) / total
        if analysis.length <= _LIFT_SHORT and least <= share < most:
            seeds[seed] = held
    if not seeds:
        return values
    lifted = values.copy()
    ties = _ties_by_rare_words(transcript, list(seeds), weights, size)
    if names_of is not None:
        ties += _ties_by_names(transcript, seeds, names_of(list(seeds)), size)
    for seed, place in _chains(transcript, seeds, weights, ties):
        raised = min(_LIFT_CHAIN_CAP * values[seed], _raised(values[place], _LIFT_CHAIN))
        lifted[place] = max(lifted[place], raised)
    return lifted


def _ties_by_rare_words(
    transcript: Transcript, seeds: Sequence[int], weights: Mapping[str, float], size: int
) -> list[tuple[int, list[int]]]:
    """Seeds, each with the messages that share a rare word that the question lacks."""
    pairs = [
        (seed, term)
        for seed in seeds
        for term in transcript.entries[seed].analysed().terms
        if term not in weights
    ]
    holders = transcript.index.rare_holders([term for _, term in pairs], size, _LIFT_RARE)
    return [(seed, holders.get(term, [])) for seed, term in pairs]


def _ties_by_names(
    transcript: Transcript, seeds: Mapping[int, object], names: Sequence[Sequence[str]], size: int
) -> list[tuple[int, list[int]]]:
    """Seeds, each with the messages that hold the words of a name of theirs, if few do."""
    pairs = [(seed, name) for seed, held in zip(seeds, names, strict=True) for name in held]
    mentions = _mentions_of(transcript, list(dict.fromkeys(name for _, name in pairs)), size)
    tied = [(seed, mentions[name]) for seed, name in pairs]
    return [(seed, places) for seed, places in tied if len(places) <= _LIFT_RARE]


def _chains(
    transcript: Transcript,
    seeds: Mapping[int, set[str]],
    weights: Mapping[str, float],
    ties: Sequence[tuple[int, Sequence[int]]],
) -> list[tuple[int, int]]:
    """Seeds, each with a short message that is tied to it and holds what it lacks.

    Together they hold nearly all of the question: two messages that only share a name are no chain.
    """
    found: list[tuple[int, int]] = []
    least = _LIFT_ALL_OF_IT * sum(weights.values())
    for seed, places in ties:
        for place in places:
            other = transcript.entries[place].analysed()
            added = (weights.keys() & set(other.terms)) - seeds[seed]
            if place == seed or not added or other.length > _LIFT_SHORT:
                continue
            if sum(weights[t] for t in sorted(added | seeds[seed])) >= least:
                found.append((seed, place))
    return found
