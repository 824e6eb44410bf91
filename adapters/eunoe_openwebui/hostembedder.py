"""The host's own embedding model, as the administrator set it for documents."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Sequence
from itertools import count
from typing import Any

from eunoe.domain.errors import BackendError
from eunoe_openwebui.hostfacts import host_embedding_prefix

HOST_EMBED_SECONDS = 30.0
"""How long a batch of history may take; requests wait for their question far shorter."""

_HOST_CHARACTERS = 6_000
_HOST_FUNCTIONS = count()


class HostEmbedder:
    """Vectors of the host's ``EMBEDDING_FUNCTION``. To be called off the event loop.

    Args:
        function: of texts; a coroutine function since 0.6, a plain one before.
        loop: of the host, where coroutines run.
    """

    dimension = None

    def __init__(self, function: Any, loop: asyncio.AbstractEventLoop) -> None:
        self.function, self.loop = function, loop
        # Vectors are remembered by name in the whole process; another function, another model.
        self.name = f"Open WebUI {next(_HOST_FUNCTIONS)}"

    def embed(self, texts: Sequence[str]) -> Any:
        """One vector for each text.

        Raises:
            BackendError: there is none in time.
        """
        return self._ask(texts, host_embedding_prefix("CONTENT"))

    def embed_question(self, texts: Sequence[str]) -> Any:
        """One vector for each question, with the prefix that the operator set for queries.

        Raises:
            BackendError: there is none in time.
        """
        return self._ask(texts, host_embedding_prefix("QUERY"))

    def _ask(self, texts: Sequence[str], prefix: str) -> Any:
        sent = [text[:_HOST_CHARACTERS].encode("utf-8", "replace").decode() for text in texts]
        answer = self.function(sent, prefix=prefix) if prefix else self.function(sent)
        if inspect.isawaitable(answer):
            waiting = asyncio.run_coroutine_threadsafe(_awaited(answer), self.loop)
            try:
                answer = waiting.result(HOST_EMBED_SECONDS)
            except TimeoutError as error:
                waiting.cancel()
                raise BackendError("the host's embedding took too long") from error
        return answer


async def _awaited(answer: Any) -> Any:
    return await answer


class HostEmbedders:
    """The embedder of the host's function; another one once the administrator changed the model."""

    def __init__(self) -> None:
        self._newest: HostEmbedder | None = None
        self._lock = threading.Lock()

    def find(self, function: Any, loop: asyncio.AbstractEventLoop | None) -> HostEmbedder | None:
        """The embedder; None where the host has no such function."""
        if not callable(function) or loop is None:
            return None
        with self._lock:
            if self._newest is None or self._newest.function is not function:
                self._newest = HostEmbedder(function, loop)
            self._newest.loop = loop
            return self._newest
