"""What the house asks of the outside: small protocols, so that every part can be another's."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from typing import Any, Protocol

from eunoe.domain.event import RequestEvent


class TokenCounter(Protocol):
    """**Protocol:** counts the tokens of plain text. Synchronous, pure, safe across threads."""

    @property
    def name(self) -> str:
        """What counts, for the report. Counters of one name count alike."""
        ...

    @property
    def exact(self) -> bool:
        """Whether this is the model's own tokenizer."""
        ...

    def count(self, text: str) -> int:
        """Tokens of the text, at least 0."""
        ...

    def count_batch(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, as ``count`` would give them."""
        ...


class Embedder(Protocol):
    """**Protocol:** turns texts into vectors whose cosine says how alike they are.

    Synchronous and safe across threads. The same text gives the same vector, and embedders of one
    name give the same vectors: both may be remembered by name and text for ever.

    One that is told apart what is asked and what is searched may have ``embed_question(texts)``,
    too; it is used for the question of a request.
    """

    @property
    def name(self) -> str:
        """What embeds, model included, such as ``"minilm-int8"``."""
        ...

    @property
    def dimension(self) -> int | None:
        """Length of a vector; None if that is only known after the first one."""
        ...

    def embed(self, texts: Sequence[str]) -> Any:
        """One vector for each text, as a list or an array of floats of length 1.

        None (or what is no vector: zeros, NaN) for a text that has none; it is not asked for again.

        Raises:
            BackendError: the vectors cannot be had now.
        """
        ...


class Labeller(Protocol):
    """**Protocol:** a model that says what each message of a history is worth to a question.

    Synchronous and safe across threads; it may take seconds, so it is only waited for if asked.
    """

    @property
    def name(self) -> str:
        """What labels, model included."""
        ...

    def label(self, question: str, messages: Sequence[tuple[str, str]]) -> Sequence[float | None]:
        """The worth of each message in [0, 1], 0.5 for neither needed nor useless.

        Args:
            question: what is asked now; empty for what may be asked later in this chat.
            messages: role and text of each message, oldest first.

        Returns:
            One value for each message; None where the model says nothing.

        Raises:
            BackendError: the labels cannot be had now.
        """
        ...


class EntityExtractor(Protocol):
    """**Protocol:** finds the names in texts: of people, things, places, files.

    Synchronous and safe across threads. The same text gives the same names, and extractors of one
    name find the same: both may be remembered by name and text for ever.
    """

    @property
    def name(self) -> str:
        """What extracts, model included."""
        ...

    def extract(self, texts: Sequence[str]) -> Sequence[Sequence[str]]:
        """The names in each text, as they are written there.

        Raises:
            BackendError: the names cannot be had now.
        """
        ...


class StanceJudge(Protocol):
    """**Protocol:** says whether texts support or contradict each other, as models of NLI do.

    Synchronous and safe across threads. The same pair gives the same stance, and judges of one name
    judge alike: both may be remembered by name and pair for ever.
    """

    @property
    def name(self) -> str:
        """What judges, model included."""
        ...

    def judge(self, pairs: Sequence[tuple[str, str]]) -> Sequence[tuple[float, float, float]]:
        """For each pair how likely the first text supports the second, is neutral, contradicts it.

        Args:
            pairs: texts of two messages, the earlier one first.

        Returns:
            Support, neutral, contradiction, each in [0, 1]; scaled to sum 1.

        Raises:
            BackendError: the stances cannot be had now.
        """
        ...


class Summarizer(Protocol):
    """**Protocol:** a model that sums up messages.

    It is asked behind the answers, from a thread of its own with an event loop of its own.
    """

    @property
    def name(self) -> Any:
        """What sums up, model included: a text, or a method that returns it."""
        ...

    def summarize(
        self,
        messages: Sequence[Mapping[str, str]],
        *,
        target_ratio: float = 0.3,
        context_messages: Sequence[Mapping[str, str]] | None = None,
    ) -> str | Awaitable[str]:
        """What the messages say, in about so much of their length.

        Args:
            messages: ``role`` and ``content`` of each, oldest first. Where the chat was summed up
                before, the first holds that summary, whose facts belong into the new one.
            target_ratio: length of the summary as a share of theirs, in (0, 1].
            context_messages: what may help to understand them; not to be summed up.

        Raises:
            BackendError: the summary cannot be had now.
        """
        ...


class SummaryStore(Protocol):
    """**Protocol:** keeps summaries for several workers, and beyond the end of a process.

    Synchronous and safe across threads. It never raises, and is quick: a request waits for it.
    """

    def find(self, keys: Sequence[str]) -> Sequence[str | None]:
        """The summary for each key; None where there is none, or where the store is away."""
        ...

    def keep(self, key: str, text: str) -> str:
        """Keep a summary unless one is there already.

        Returns:
            The summary that is kept: another worker may have been first.
        """
        ...


class Observer(Protocol):
    """**Protocol:** is told of each request once it is answered, in the thread of the request.

    It should return at once; what it raises is logged and goes no further.
    """

    def observe(self, event: RequestEvent) -> None:
        """Take note of a request."""
        ...
