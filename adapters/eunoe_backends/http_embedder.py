"""Embeddings of any OpenAI-compatible endpoint, remembered by content and model.

embedder = HttpEmbedder("http://localhost:11434/v1", "nomic-embed-text")
orchestrator = ContextOrchestrator(budget=..., embedder=embedder)
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import threading
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eunoe.domain.errors import BackendError, SettingsError
from eunoe.stages.scoring.vectors import unit_vector
from eunoe_backends.json_endpoint import JsonEndpoint
from eunoe_backends.redis_link import RedisLink

FloatVector = NDArray[np.float32]
EmbeddedRow = FloatVector | None
"""The vector of a text; None where the endpoint has none for it."""


class HttpEmbedder:
    """Vectors of ``POST {base_url}/embeddings``. Safe across threads.

    Args:
        base_url: of the server, its version included.
        model: its name there.
        api_key: sent as a bearer token; never logged.
        dimensions: length of the vectors to ask for, where a model can be asked; None does not ask.
        batch: texts in one request, at least 1.
        max_characters: of a text that are sent; the rest is cut off.
        timeout: seconds for one request with all its tries.
        attempts: tries of a request.
        remembered: vectors kept in this process, the least recently used goes.
        redis: where vectors are shared with other workers.
        keep_days: how long they are kept there, at least 1.
        prefix: of the keys there.

    Raises:
        BackendError: httpx is not installed.
        SettingsError: an argument is out of range.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        api_key: str | None = None,
        dimensions: int | None = None,
        batch: int = 64,
        max_characters: int = 6_000,
        timeout: float = 30.0,
        attempts: int = 3,
        remembered: int = 4_096,
        redis: RedisLink | None = None,
        keep_days: int = 30,
        prefix: str = "eunoe",
    ) -> None:
        for name, value in (("batch", batch), ("max_characters", max_characters)):
            if value < 1:
                raise SettingsError(name, value, "at least 1")
        if dimensions is not None and dimensions < 1:
            raise SettingsError("dimensions", dimensions, "at least 1, or None")
        if not model:
            raise SettingsError("model", model, "a name")
        self._endpoint = JsonEndpoint(base_url, api_key, timeout=timeout, attempts=attempts)
        self._model, self._dimensions = model, dimensions
        self._batch, self._characters = batch, max_characters
        self._kept: dict[str, EmbeddedRow] = {}
        self._most_kept = max(0, remembered)
        self._redis, self._prefix = redis, prefix
        self._keep_seconds = max(1, keep_days) * 86_400
        self._lock = threading.Lock()
        size = f"/{dimensions}" if dimensions else ""
        self._name = f"{model}{size} at {self._endpoint.host}"

    @property
    def name(self) -> str:
        """Model, length and host."""
        return self._name

    @property
    def dimension(self) -> int | None:
        """Length of a vector, where it was asked for."""
        return self._dimensions

    def embed(self, texts: Sequence[str]) -> list[EmbeddedRow]:
        """One vector of length 1 for each text; only texts not met before are sent.

        None for a text that the endpoint has no vector for.

        Raises:
            BackendError: the endpoint did not answer in time, or not with vectors.
        """
        sent = [text[: self._characters] if text.strip() else " " for text in texts]
        keys = [self._key(text) for text in sent]
        found = self._remembered(keys)
        missing = {k: t for k, t in zip(keys, sent, strict=True) if k not in found}
        wanted = list(missing)
        for start in range(0, len(wanted), self._batch):
            part = wanted[start : start + self._batch]
            vectors = self._ask([missing[k] for k in part])
            fresh = dict(zip(part, vectors, strict=True))
            self._remember(fresh)
            found |= fresh
        return [found[k] for k in keys]

    def close(self) -> None:
        """Close the connections."""
        self._endpoint.close()

    def _key(self, text: str) -> str:
        parts = (self._name, text)
        digest = hashlib.sha256()
        for part in parts:
            data = part.encode("utf-8", "surrogatepass")
            digest.update(len(data).to_bytes(8, "big") + data)
        return digest.hexdigest()

    def _ask(self, texts: list[str]) -> list[EmbeddedRow]:
        clean = [t.encode("utf-8", "replace").decode("utf-8") for t in texts]
        body: dict[str, Any] = {"model": self._model, "input": clean, "encoding_format": "float"}
        if self._dimensions is not None:
            body["dimensions"] = self._dimensions
        answer = self._endpoint.post("embeddings", body)
        vectors = read_embeddings(answer, len(texts))
        if vectors is None:
            raise BackendError(f"{self._endpoint.host}: the answer holds no vectors")
        if self._dimensions is not None and any(
            v is not None and v.size != self._dimensions for v in vectors
        ):
            raise BackendError(f"{self._endpoint.host}: the vectors have another length")
        return vectors

    def _remembered(self, keys: Sequence[str]) -> dict[str, EmbeddedRow]:
        found: dict[str, EmbeddedRow] = {}
        with self._lock:
            for key in keys:
                if key in self._kept:
                    self._kept[key] = found[key] = self._kept.pop(key)
        missing = [k for k in dict.fromkeys(keys) if k not in found]
        if self._redis is not None and missing:
            names = [f"{self._prefix}:embed:{k}" for k in missing]
            nothing: list[str | None] = []
            held = self._redis.call(lambda client: list(client.mget(names)), nothing)
            known = zip(missing, held, strict=False)
            shared = {k: v for k, text in known if (v := _read_vector(text)) is not None}
            self._keep(shared)
            found |= shared
        return found

    def _remember(self, fresh: Mapping[str, EmbeddedRow]) -> None:
        self._keep(fresh)
        vectors = {key: vector for key, vector in fresh.items() if vector is not None}
        if self._redis is None or not vectors:
            return

        def write(client: Any) -> bool:
            pipe = client.pipeline(transaction=False)
            for key, vector in vectors.items():
                value = base64.b64encode(vector.astype("<f4").tobytes()).decode("ascii")
                pipe.set(f"{self._prefix}:embed:{key}", value, ex=self._keep_seconds)
            pipe.execute()
            return True

        self._redis.call(write, False)

    def _keep(self, fresh: Mapping[str, EmbeddedRow]) -> None:
        with self._lock:
            for key, vector in fresh.items():
                self._kept.pop(key, None)
                self._kept[key] = vector
            while len(self._kept) > self._most_kept:
                del self._kept[next(iter(self._kept))]


def read_embeddings(answer: Any, count: int) -> list[EmbeddedRow] | None:
    """The vectors of an answer in the order of what was sent; None unless each has its row.

    A row that holds no vector (null, zeros) is None and costs the others nothing.

    Args:
        answer: parsed JSON, ``{"data": [{"index": 0, "embedding": [...]}, ...]}``; a vector may be
            base64 of little-endian float32, too.
        count: how many were asked for.
    """
    rows = answer.get("data") if isinstance(answer, Mapping) else None
    if not isinstance(rows, list) or len(rows) != count:
        return None
    placed: dict[int, EmbeddedRow] = {}
    for place, row in enumerate(rows):
        if not isinstance(row, Mapping) or "embedding" not in row:
            return None
        held, index = row["embedding"], row.get("index", place)
        vector = _read_vector(held) if isinstance(held, str) else unit_vector(held or ())
        readable = isinstance(held, (list, type(None))) or vector is not None
        if not readable or not isinstance(index, int):
            return None
        placed[index] = vector
    sizes = {vector.size for vector in placed.values() if vector is not None}
    if sorted(placed) != list(range(count)) or len(sizes) > 1:
        return None
    return [placed[i] for i in range(count)]


def _read_vector(text: str | None) -> FloatVector | None:
    try:
        data = base64.b64decode(text or "", validate=True)
        return unit_vector(np.frombuffer(data, dtype="<f4"))
    except (ValueError, binascii.Error):
        return None
