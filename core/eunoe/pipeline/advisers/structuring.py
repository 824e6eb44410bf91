"""What others say of the ties between messages: names in them, and whether two contradict."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from eunoe.domain.checking import require_model_name
from eunoe.domain.message import text_digest
from eunoe.domain.ports import EntityExtractor, StanceJudge
from eunoe.pipeline.advisers.opinion_desk import OpinionDesk
from eunoe.pipeline.chat.transcript import PipelineMemory
from eunoe.stages.scoring.word_splitting import split_words
from eunoe.stages.scoring.words import look_up_words
from eunoe.stages.structure.stance import Stance, stance_of

NamesDesk = OpinionDesk[str, tuple[str, ...]]
StanceDesk = OpinionDesk[tuple[str, str], Stance]
NamesOf = Callable[[Sequence[int]], Sequence[tuple[str, ...]]]
"""Names in the messages at some places, folded."""
StancesOf = Callable[[Sequence[tuple[int, int]]], Sequence[Stance | None]]
"""Stances of the messages at pairs of places; None where nothing is known."""

NAMES_MISSING = "the entity extractor did not answer in time: our own analysis alone finds names"
STANCES_MISSING = "the stance judge did not answer in time: likeness alone ties messages"

_NAMES_MOST = 256
_NAME_BYTES = 60
_OPINION_BYTES = 300


def names_desk(extractor: EntityExtractor, memory: PipelineMemory, timeout: float) -> NamesDesk:
    """Where an extractor is asked for the names in texts.

    Raises:
        SettingsError: the time-out is not above 0, or the name is no text.
    """
    return OpinionDesk(
        require_model_name("entity_extractor", extractor.name),
        extractor.extract,
        read_names,
        text_digest,
        memory.names,
        what="Entity extraction",
        timeout=timeout,
    )


def stance_desk(judge: StanceJudge, memory: PipelineMemory, timeout: float) -> StanceDesk:
    """Where a judge is asked whether texts support or contradict each other.

    Raises:
        SettingsError: the time-out is not above 0, or the name is no text.
    """
    return OpinionDesk(
        require_model_name("stance_judge", judge.name),
        judge.judge,
        _read_stance,
        _pair_digest,
        memory.stances,
        what="Judging stance",
        timeout=timeout,
    )


def read_names(said: Sequence[str]) -> tuple[tuple[str, ...], int]:
    """The names in a text, folded as our own are, each once, 256 at most; and their bytes.

    Raises:
        TypeError: they are no list of texts.
    """
    if isinstance(said, str) or not all(isinstance(name, str) for name in said):
        raise TypeError("names of a text are a list of texts")
    folded = dict.fromkeys(fold_name(name) for name in said)
    names = tuple([name for name in folded if len(name) > 1][:_NAMES_MOST])
    return names, sum(2 * len(name) + _NAME_BYTES for name in names) + _OPINION_BYTES


def fold_name(name: str) -> str:
    """A name that others found, folded as our own are; empty if it says nothing.

    Case, accents and a genitive s are folded, signs between words and stop words at either end
    left out: "the Acme Corp's" becomes "acme corp".
    """
    entries = look_up_words(split_words(name))
    said = [i for i, (terms, _, _) in enumerate(entries) if terms]
    return " ".join([word for _, _, word in entries[said[0] : said[-1] + 1]]) if said else ""


def _read_stance(said: Any) -> tuple[Stance, int]:
    return stance_of(said), _OPINION_BYTES


def _pair_digest(pair: tuple[str, str]) -> tuple[str, str]:
    return text_digest(pair[0]), text_digest(pair[1])
