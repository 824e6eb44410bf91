"""What models add to the words: likeness by embeddings, worth by labels. Both may be missing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eunoe.domain.ports import (
    Embedder,
    EntityExtractor,
    Labeller,
    StanceJudge,
    Summarizer,
    SummaryStore,
)
from eunoe.pipeline.advisers.embedding import HistoryEmbedder
from eunoe.pipeline.advisers.labelling import HistoryLabeller
from eunoe.pipeline.advisers.structuring import NamesDesk, StanceDesk, names_desk, stance_desk
from eunoe.pipeline.chat.memory import ContentEntry
from eunoe.pipeline.chat.transcript import PipelineMemory, Transcript
from eunoe.pipeline.summaries.writing import SummaryDesk, SummaryJob

ADVICE_FROM_SHARE = 0.5
"""Share of the budget from which on a chat is embedded: shorter ones may never need it."""


@dataclass(frozen=True, slots=True, eq=False)
class Advice:
    """What was said of the finished messages, each of shape (n,) with NaN for nothing, or None.

    Attributes:
        likeness: cosine of each with the question.
        labels: worth of each to the question.
        ahead: worth of each to whatever may be asked in this chat.
        warnings: what could not be had.
    """

    likeness: NDArray[np.float64] | None = None
    labels: NDArray[np.float64] | None = None
    ahead: NDArray[np.float64] | None = None
    warnings: tuple[str, ...] = ()

    @property
    def says_nothing(self) -> bool:
        """Whether words alone decide."""
        return self.likeness is None and self.labels is None and self.ahead is None


@dataclass(frozen=True, slots=True, eq=False)
class Advisers:
    """The models that were given; none by default.

    Attributes:
        embedder: likeness of meaning.
        labeller: worth of each message.
        summaries: writes summaries of what a cut left out.
        behind: whether requests have embeddings and summaries made once they are answered.
        names: names in texts.
        stances: whether texts contradict each other.
    """

    embedder: HistoryEmbedder | None = None
    labeller: HistoryLabeller | None = None
    summaries: SummaryDesk | None = None
    behind: bool = True
    names: NamesDesk | None = None
    stances: StanceDesk | None = None

    def ask(
        self,
        transcript: Transcript,
        question: ContentEntry,
        expired: Callable[[], bool],
        chat: str = "",
    ) -> Advice:
        """What they say of the finished turns, as far as it is known in time."""
        likeness = labels = ahead = None
        warnings = ["", ""]
        if self.embedder is not None:
            likeness, warnings[0] = self.embedder.likeness(transcript, question, expired)
        if self.labeller is not None:
            ahead = self.labeller.labels_ahead(transcript.entries, chat)
            labels, warnings[1] = self.labeller.labels(transcript.entries, question)
            if ahead is not None:
                warnings[1] = ""
        return Advice(likeness, labels, ahead, tuple(w for w in warnings if w))

    def learn(
        self,
        transcript: Transcript,
        newest: Sequence[ContentEntry],
        tokens: int,
        limit: int,
        due: SummaryJob | None,
    ) -> None:
        """After an answer: have the chat embedded, once it is of a size to be cut some day.

        Args:
            due: the summary that should be written.
        """
        if self.embedder is not None and self.behind and may_be_cut(tokens, limit):
            self.embedder.learn(transcript, newest)
        if self.summaries is not None and self.behind and due is not None:
            self.summaries.start(due)

    def prepare(self, entries: Sequence[ContentEntry], question: ContentEntry | None) -> bool:
        """Before a request, and for as long as it takes: embed it all, have it labelled."""
        done = True
        if self.embedder is not None:
            done = self.embedder.embed_all([*entries, *([question] if question else [])])
            done = done and (question is None or self.embedder.embed_question(question))
        if self.labeller is not None and question is not None:
            done = self.labeller.prepare(entries, question) and done
        return self._find_names([*entries, *([question] if question else [])]) and done

    def prepare_ahead(
        self, entries: Sequence[ContentEntry], newest: Sequence[ContentEntry], chat: str
    ) -> bool:
        """After an answer, and for as long as it takes: embed it all, have it labelled ahead."""
        done = True
        if self.embedder is not None:
            done = self.embedder.embed_all([*entries, *newest])
        if self.labeller is not None and chat:
            done = self.labeller.prepare_ahead(entries, chat) and done
        return self._find_names([*entries, *newest]) and done

    def _find_names(self, entries: Sequence[ContentEntry]) -> bool:
        if self.names is None:
            return True
        texts = [text for text in (e.meant() for e in entries) if text]
        return self.names.opinions(texts, lambda: False, patient=True) is not None

    def drain(self) -> None:
        """Finish what is done after an answer."""
        if self.embedder is not None:
            self.embedder.drain()
        if self.summaries is not None:
            self.summaries.drain()
        if self.names is not None:
            self.names.drain()
        if self.stances is not None:
            self.stances.drain()


NO_ADVISERS = Advisers()


def may_be_cut(tokens: int, limit: int) -> bool:
    """Whether a chat of so many tokens is near enough to its limit to be embedded."""
    return 0 < limit * ADVICE_FROM_SHARE < tokens


def make_advisers(
    memory: PipelineMemory,
    embedder: Embedder | None,
    labeller: Labeller | None,
    summarizer: Summarizer | None,
    *,
    summary_store: SummaryStore | None,
    embed_in_request: bool,
    embed_timeout: float,
    embed_behind: bool,
    label_timeout: float | None,
    entity_extractor: EntityExtractor | None = None,
    stance_judge: StanceJudge | None = None,
    structure_timeout: float = 1.0,
) -> Advisers:
    """The advisers of an orchestrator, from arguments that were checked."""
    given = (embedder, labeller, summarizer, entity_extractor, stance_judge)
    if all(model is None for model in given):
        return NO_ADVISERS
    wait = structure_timeout
    return Advisers(
        embedder=None
        if embedder is None
        else HistoryEmbedder(
            embedder, memory.vectors, in_request=embed_in_request, timeout=embed_timeout
        ),
        labeller=None
        if labeller is None
        else HistoryLabeller(labeller, memory.labels, timeout=label_timeout),
        summaries=None
        if summarizer is None
        else SummaryDesk(summarizer, memory.summaries, store=summary_store),
        behind=embed_behind,
        names=None if entity_extractor is None else names_desk(entity_extractor, memory, wait),
        stances=None if stance_judge is None else stance_desk(stance_judge, memory, wait),
    )
