"""The models that the valves name: what embeds, labels and sums up. Off unless asked for."""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from eunoe.domain.errors import BackendError, EunoeError
from eunoe.domain.log import logger
from eunoe.domain.ports import Embedder, EntityExtractor, Labeller, Summarizer, SummaryStore
from eunoe_backends.http_embedder import HttpEmbedder
from eunoe_backends.label_scorer import ChatLabeller
from eunoe_backends.llm_summarizer import LLMSummarizer
from eunoe_openwebui.hostembedder import HostEmbedders
from eunoe_openwebui.valves import FilterValves, unless_none
from eunoe_openwebui.valvetables import table_faults

_ADVISERS_REMEMBERED = 8
_LONGEST_WAIT = 0.3
"""Share of the deadline that a request waits for a vector at most: the rest is for choosing."""


@dataclass(frozen=True, slots=True)
class FilterAdvisers:
    """What a request may ask beside its words.

    Attributes:
        embedder: makes vectors; None for words alone.
        labeller: labels messages; None for none.
        summarizer: sums up what was left out; None for none.
        store: shares summaries with other workers; None where no Redis is set.
        seconds: that a request waits for the vector of its question.
        extractor: finds names; None for our own alone.
        faults: what the operator should mend, a few words each; said once.
    """

    embedder: Embedder | None = None
    labeller: Labeller | None = None
    summarizer: Summarizer | None = None
    store: SummaryStore | None = None
    seconds: float = 0.4
    extractor: EntityExtractor | None = None
    faults: tuple[str, ...] = ()


NO_FILTER_ADVISERS = FilterAdvisers()


class AdviserShelf:
    """Embedders and labellers by their valves, made once. Safe across threads; never raises."""

    def __init__(self) -> None:
        self._made: OrderedDict[tuple[str, ...], Any] = OrderedDict()
        self._host = HostEmbedders()
        self._told: set[str] = set()
        self._lock = threading.Lock()

    def advisers(
        self, valves: FilterValves, host: Any, loop: asyncio.AbstractEventLoop | None
    ) -> FilterAdvisers:
        """What these valves ask for; what cannot be had is told once.

        Args:
            valves: of the operator, resolved for the model.
            host: the embedding function of the host, None where it has none.
            loop: the host's event loop.
        """
        embedder, fault = self._embedder(valves, host, loop)
        labeller, wrong = self._labeller(valves)
        summarizer, amiss = self._summarizer(valves)
        extractor, missing = self._extractor(valves)
        unkept = self._stores_fault(valves)
        url = unless_none(valves.redis_url) if summarizer is not None else ""
        store = self._make(("store", url), lambda: _summary_store(url)) if url else None
        with self._lock:
            tables = table_faults(valves.model_overrides, valves.own_prices)
            told = (fault, wrong, amiss, missing, unkept, *tables)
            faults = tuple(text for text in told if text and text not in self._told)
            self._told.update(faults)
        most = _LONGEST_WAIT * valves.deadline_seconds
        seconds = min(valves.embedding_seconds, most)
        return FilterAdvisers(embedder, labeller, summarizer, store, seconds, extractor, faults)

    def _embedder(
        self, valves: FilterValves, host: Any, loop: asyncio.AbstractEventLoop | None
    ) -> tuple[Embedder | None, str]:
        if valves.embedding == "host":
            found = self._host.find(host, loop)
            return (
                found,
                "" if found is not None else "words alone: the host has no embedding model",
            )
        if valves.embedding == "local":
            made = self._make(("local",), _local_embedder)
            return made, "" if made is not None else "words alone: no embedder is installed"
        if valves.embedding == "url":
            url, model, key = (
                unless_none(text)
                for text in (valves.embedding_url, valves.embedding_model, valves.embedding_key)
            )
            made = self._make(
                ("url", url, model, key), lambda: HttpEmbedder(url, model, api_key=key or None)
            )
            return (
                made,
                "" if made is not None else "words alone: the embedding endpoint cannot be used",
            )
        return None, ""

    def _labeller(self, valves: FilterValves) -> tuple[Labeller | None, str]:
        named = (valves.label_url, valves.label_model, valves.label_key)
        return self._of_endpoint("labels", named, ChatLabeller)

    def _summarizer(self, valves: FilterValves) -> tuple[Summarizer | None, str]:
        named = (valves.summary_url, valves.summary_model, valves.summary_key)
        return self._of_endpoint("summaries", named, LLMSummarizer)

    def _extractor(self, valves: FilterValves) -> tuple[EntityExtractor | None, str]:
        name = unless_none(valves.entities)
        if not name:
            return None, ""
        made = self._make(("names", name), lambda: _named_extractor(name))
        return (
            made,
            "" if made is not None else "our own names alone: the pipeline is not installed",
        )

    def _stores_fault(self, valves: FilterValves) -> str:
        """What is amiss with where ledgers are kept, looked for once: a failing import is slow."""
        places = (unless_none(valves.ledger_file), unless_none(valves.redis_url))
        if not any(places) or self._make(("ledger stores", *places), _ledger_stores):
            return ""
        return "tokens and cost are kept in memory alone: the package eunoe is not installed"

    def _of_endpoint(
        self, what: str, named: tuple[str, str, str], make: Callable[..., Any]
    ) -> tuple[Any, str]:
        """What asks the model that three valves name: URL, model, key; and what is amiss."""
        url, model, key = map(unless_none, named)
        if not url or not model:
            return None, ""
        made = self._make(
            (what, url, model, key), lambda: make(url, model=model, api_key=key or None)
        )
        return made, "" if made is not None else f"no {what}: their endpoint cannot be used"

    def _make(self, settings: tuple[str, ...], make: Callable[[], Any]) -> Any:
        """What was made of these settings before, else now; None if it cannot be made."""
        with self._lock:
            if settings in self._made:
                self._made.move_to_end(settings)
                return self._made[settings]
            made = None
            try:
                made = make()
            except Exception as error:
                what = str(error) if isinstance(error, EunoeError) else type(error).__name__
                logger.warning("eunoe does without %s: %s", settings[0], what)
            self._made[settings] = made
            if len(self._made) > _ADVISERS_REMEMBERED:
                self._made.popitem(last=False)
            return made


def _local_embedder() -> Embedder:
    """MiniLM where it is installed, else wordllama.

    Raises:
        BackendError: neither is.
    """
    try:
        from eunoe_backends import MiniLmEmbedder, WordLlamaEmbedder
    except ImportError as error:
        raise BackendError("local needs the package eunoe with its extra 'embeddings'") from error
    try:
        return MiniLmEmbedder()
    except BackendError:
        return WordLlamaEmbedder()


def _ledger_stores() -> Any:
    """What keeps ledgers in files.

    Raises:
        BackendError: the package is not installed.
    """
    try:
        from eunoe_backends import JsonLinesLedgerStore
    except ImportError as error:
        raise BackendError("files and servers need the package eunoe") from error
    return JsonLinesLedgerStore


def _named_extractor(name: str) -> EntityExtractor:
    """The pipeline of spaCy of this name.

    Raises:
        BackendError: it, or a package, is not installed.
    """
    try:
        from eunoe_backends import SpacyExtractor
    except ImportError as error:
        raise BackendError("names need the package eunoe with its extra 'spacy'") from error
    return SpacyExtractor(name)


def _summary_store(url: str) -> SummaryStore:
    """Redis, if the packages for it are installed.

    Raises:
        BackendError: they are not.
    """
    try:
        from eunoe_backends import RedisLink, RedisSummaryStore
    except ImportError as error:
        raise BackendError("Redis needs the package eunoe with its extra 'redis'") from error
    return RedisSummaryStore(RedisLink.from_url(url))
