"""Embeddings and chat models of LangChain as the core asks for them."""

from __future__ import annotations

import itertools
import threading
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage, SystemMessage

from eunoe import SettingsError
from eunoe.domain.ports import (
    Embedder,
    EntityExtractor,
    Labeller,
    StanceJudge,
    Summarizer,
    SummaryStore,
)
from eunoe_backends.label_prompting import PromptLabeller
from eunoe_backends.summary_prompting import PromptSummarizer

_wrapped: dict[tuple[int, Any], tuple[Callable[[], Any], Any]] = {}
_numbers = itertools.count(1)
_lock = threading.Lock()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlanModels:
    """Models that are asked beside the words, and how long they are waited for.

    Named as the arguments of ``ContextOrchestrator``. Equal if the models are the same objects: a
    model need not be hashable, and two that compare equal may answer differently.
    """

    embedder: Embedder | None = None
    embed_in_request: bool = False
    embed_timeout: float = 0.5
    labeller: Labeller | None = None
    label_timeout: float | None = None
    summarizer: Summarizer | None = None
    summary_store: SummaryStore | None = None
    entity_extractor: EntityExtractor | None = None
    stance_judge: StanceJudge | None = None
    structure_timeout: float = 1.0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PlanModels) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[object, ...]:
        values = self.arguments().values()
        return tuple(v if v is None or isinstance(v, (int, float)) else id(v) for v in values)

    def arguments(self) -> dict[str, Any]:
        """What they are to an orchestrator."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


class LangChainEmbedder:
    """Vectors of ``embed_documents`` for the history, of ``embed_query`` for the question."""

    dimension = None

    def __init__(self, embeddings: Embeddings) -> None:
        self._embeddings = _watch(embeddings)
        # What is remembered by name in the whole process must not meet another model's.
        self.name = f"{type(embeddings).__name__} {next(_numbers)}"

    def embed(self, texts: Sequence[str]) -> Any:
        """One vector for each text.

        Raises:
            Exception: whatever the model raises; words decide then.
        """
        return self._embeddings().embed_documents(list(texts))

    def embed_question(self, texts: Sequence[str]) -> Any:
        """One vector for each question.

        Raises:
            Exception: whatever the model raises; words decide then.
        """
        return [self._embeddings().embed_query(text) for text in texts]


class ChatModelLabeller(PromptLabeller):
    """Labels by what a chat model answers."""

    def __init__(self, model: BaseChatModel) -> None:
        super().__init__(f"{type(model).__name__} {next(_numbers)}", _answers_of(model))


class ChatModelSummarizer(PromptSummarizer):
    """Summaries by what a chat model answers."""

    def __init__(self, model: BaseChatModel) -> None:
        super().__init__(f"{type(model).__name__} {next(_numbers)}", _answers_of(model))


def _answers_of(model: BaseChatModel) -> Callable[[str, str], str]:
    """Asks the model as long as others hold it; its calls show up in no trace and no stream."""
    chat_model = _watch(model)

    def answer(rules: str, content: str) -> str:
        asked = [SystemMessage(rules), HumanMessage(content)]
        return str(chat_model().invoke(asked, config={"callbacks": []}).text)

    return answer


@dataclass(frozen=True, slots=True)
class ModelField:
    """What a field of the optimizer takes for a model.

    Attributes:
        method: that an object of the core's kind has, beside a name.
        allowed: for people.
        hosts: LangChain's class, and what makes the core's kind of it; None where it has none.
    """

    method: str
    allowed: str
    hosts: tuple[type, Callable[[Any], Any]] | None = None


_MODELS = {
    "embedder": ModelField(
        "embed",
        "LangChain Embeddings, or an object with embed(texts), name and dimension",
        (Embeddings, LangChainEmbedder),
    ),
    "labeller": ModelField(
        "label",
        "a chat model, or an object with label(question, messages) and name",
        (BaseChatModel, ChatModelLabeller),
    ),
    "summarizer": ModelField(
        "summarize",
        "a chat model, or an object with summarize(messages, ...) and name",
        (BaseChatModel, ChatModelSummarizer),
    ),
    "entity_extractor": ModelField("extract", "an object with extract(texts) and name"),
    "stance_judge": ModelField("judge", "an object with judge(pairs) and name"),
}
MODEL_FIELDS = tuple(_MODELS)
"""Fields of the optimizer that take a model."""


def read_model(name: str, value: Any) -> Any:
    """A model for one of ``MODEL_FIELDS`` as the core asks for it; None stays None.

    The same object gives the same model as long as it lives.

    Raises:
        SettingsError: it is none for this field.
    """
    field = _MODELS[name]
    if field.hosts is not None and isinstance(value, field.hosts[0]):
        return _wrap(value, field.hosts[1])
    if value is not None and not _has(value, field.method, "name"):
        raise SettingsError(name, type(value).__name__, field.allowed)
    return value


def models_of(optimizer: Any) -> PlanModels:
    """The models of an optimizer, each of the core's kind.

    Args:
        optimizer: has the fields of ``PlanModels``; those it was given, checked already.
    """
    return PlanModels(
        embed_in_request=optimizer.embed_in_request,
        embed_timeout=optimizer.embed_timeout,
        label_timeout=optimizer.label_timeout if optimizer.labeller is not None else None,
        summary_store=optimizer.summary_store,
        structure_timeout=optimizer.structure_timeout,
        **{name: read_model(name, getattr(optimizer, name)) for name in MODEL_FIELDS},
    )


def _has(value: Any, method: str, attribute: str) -> bool:
    return callable(getattr(value, method, None)) and hasattr(value, attribute)


def _wrap(value: Any, make: Any) -> Any:
    """What was made of the object before, else now; models may be unhashable."""
    with _lock:
        known = _wrapped.get((id(value), make))
        if known is not None and known[0]() is value:
            return known[1]
        made = make(value)
        _wrapped[id(value), make] = (_watch(value), made)
        for key in [k for k, (reference, _) in _wrapped.items() if reference() is None]:
            del _wrapped[key]
        return made


def _watch(value: Any) -> Callable[[], Any]:
    """The object as long as others hold it; what is remembered of it must not keep it alive."""
    try:
        return weakref.ref(value)
    except TypeError:  # it cannot be watched
        return lambda: value
