"""Count tokens: exactly where a vocabulary is on this machine, else by estimate. Never the network.

Source: byte pair encoding splits a text into pieces first (words, numbers, runs of marks), and no
piece holds a character before a space; so cutting a long text there changes no count.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from eunoe.domain.log import logger
from eunoe.domain.ports import TokenCounter
from eunoe.domain.profile import model_names
from eunoe.stages.counting.estimate import FAMILY_FACTORS, estimate_tokens
from eunoe.stages.counting.vocabulary import TokenSource, load_source

# Longest way back, in characters, that a space is looked for before a text is cut inside a word.
_CUT_WINDOW = 2_000
_SAMPLE_BLOCK = 65_536
_SAMPLE_BLOCKS = 24
# Added to a sampled count; on texts made of unlike halves the error stays well below it.
_SAMPLE_MARGIN = 0.03
# What the packages raise at a text they cannot take.
_COUNT_FAULTS = (ValueError, TypeError, RuntimeError)


@dataclass(frozen=True, slots=True)
class EstimateTokenizer:
    """The script-aware estimate, for a machine without vocabularies."""

    family: str
    exact: bool = False

    @property
    def name(self) -> str:
        """Name for the report."""
        return f"estimate {self.family}"

    def count(self, text: str) -> int:
        """Estimate one text."""
        return estimate_tokens(text, self.family)

    def count_batch(self, texts: Sequence[str]) -> list[int]:
        """Estimate many texts."""
        return [estimate_tokens(text, self.family) for text in texts]


@dataclass(frozen=True, slots=True)
class SourceTokenizer:
    """A vocabulary on this machine, with long texts cut so that time stays linear.

    Attributes:
        source: the counter of the vocabulary.
        encoding: family that stands for the vocabulary in estimates.
        family: family that is counted for.
        permille: factor on the count in thousandths; 1000 for the model's own vocabulary.
        exact: the vocabulary is the model's own. Texts of more than ``source.longest_text``
            characters are sampled even so, with 3 % added.
    """

    source: TokenSource
    encoding: str
    family: str
    permille: int
    exact: bool

    @property
    def name(self) -> str:
        """Name for the report."""
        if self.permille == 1000:
            return self.source.name
        return f"{self.source.name} x{self.permille / 1000:g} for {self.family}"

    def count(self, text: str) -> int:
        """Count one text."""
        return self.count_batch((text,))[0]

    def count_batch(self, texts: Sequence[str]) -> list[int]:
        """Count many texts in one call of the vocabulary."""
        longest = self.source.longest_piece
        if max(map(len, texts), default=0) <= longest:
            counts = self._count_pieces(texts)
        else:
            counts = self._count_pieces([text if len(text) <= longest else "" for text in texts])
            for place, text in enumerate(texts):
                if len(text) > longest:
                    counts[place] = self._count_long(text)
        if self.permille == 1000:
            return counts
        return [-(-count * self.permille // 1000) for count in counts]

    def _count_pieces(self, texts: Sequence[str]) -> list[int]:
        try:
            return self.source.count_all(texts)
        except _COUNT_FAULTS:  # half a surrogate pair is no text for a vocabulary
            whole = [text.encode("utf-8", "replace").decode() for text in texts]
        try:
            return self.source.count_all(whole)
        except _COUNT_FAULTS as error:
            logger.debug("%s gave up: %r", self.source.name, error)
            return [estimate_tokens(text, self.encoding) for text in whole]

    def _count_long(self, text: str) -> int:
        if len(text) > self.source.longest_text:
            return self._count_sample(text)
        pieces, inside = cut_text(text, self.source.longest_piece)
        return sum(self._count_pieces(pieces)) + inside

    def _count_sample(self, text: str) -> int:
        """Estimate every block, correct the estimate by exact counts of blocks of each density."""
        blocks, _ = cut_text(text, min(_SAMPLE_BLOCK, self.source.longest_piece))
        guesses = [max(1, estimate_tokens(block, self.encoding)) for block in blocks]
        density = [
            guess * 100_000 // len(block) for guess, block in zip(guesses, blocks, strict=True)
        ]
        order = sorted(range(len(blocks)), key=density.__getitem__)
        step = -(-len(order) // _SAMPLE_BLOCKS)
        total = 0.0
        for start in range(0, len(order), step):
            layer = order[start : start + step]
            taken = layer[len(layer) // 2]
            real = self._count_pieces([blocks[taken]])[0]
            total += sum(guesses[i] for i in layer) * real / guesses[taken]
        return int(total * (1 + _SAMPLE_MARGIN)) + 1


def cut_text(text: str, longest: int) -> tuple[list[str], int]:
    """Cut a long text before spaces, where that does not change its count.

    Args:
        text: any text.
        longest: characters in a piece, at least 1.

    Returns:
        The pieces, which joined are the text, and how many cuts had to be made elsewhere: each may
        change the count by a token or so.
    """
    pieces, start, inside = [], 0, 0
    while len(text) - start > longest:
        end = start + longest
        low = max(start + 1, end - _CUT_WINDOW)
        cut = text.rfind(" ", low, end)
        while cut > low and text[cut - 1].isspace():
            cut = text.rfind(" ", low, cut)
        if cut <= low:
            cut, inside = end, inside + 1
        pieces.append(text[start:cut])
        start = cut
    pieces.append(text[start:])
    return pieces, inside


# First match wins; the name of the model is tried alone, then with its provider.
_FAMILY_PATTERNS = tuple(
    (re.compile(pattern), family)
    for pattern, family in (
        (r"distill-?qwen", "qwen"),
        (r"distill-?llama", "llama3"),
        (r"claude|anthropic", "claude"),
        (r"gpt-?3\.?5|gpt-?4(?![\do.]|-?o)|davinci-00|text-embedding-|babbage", "cl100k"),
        (r"gpt|(?<![a-z\d])o[1-9](?![a-z\d])|codex", "o200k"),
        (r"gemini|gemma|learnlm", "gemini"),
        (r"deepseek", "deepseek"),
        (r"qwen-?3[.-][5-9]", "qwen3.5"),
        (r"qwen|qwq|qvq", "qwen"),
        (r"(?<!o)llama-?v?2|codellama|vicuna|(?<!o)llama-?1", "llama2"),
        (r"(?<!o)llama|hermes-?[34]", "llama3"),
        (r"[mx]i[sx]tral|(?:mini|code|dev|pix|magi|vox)s?tral|mistral|nemo(?!tron)", "mistral"),
        (r"command|cohere|aya", "command"),
        (r"grok", "grok"),
        (r"phi-?[34]", "phi"),
        (r"glm", "glm"),
        (r"kimi|moonshot", "kimi"),
    )
)


def family_of(model_id: str | None) -> str:
    """Name the family of vocabularies that a model counts by.

    Args:
        model_id: as hosts write it, with providers before and tags behind it
            (``openrouter/openai/gpt-4o:free``), or None.

    Returns:
        A key of ``FAMILY_FACTORS``; ``o200k`` for models that are not known.
    """
    for text in model_names(model_id):
        for pattern, family in _FAMILY_PATTERNS:
            if pattern.search(text):
                return family
    return "o200k"


# Families whose own vocabulary may be on this machine.
_FAMILY_ENCODINGS = {
    "o200k": "o200k_base",
    "cl100k": "cl100k_base",
    "llama3": "llama3",
    "qwen": "qwen3",
    "qwen3.5": "qwen3.5",
}


class TokenizerShelf:
    """The tokenizers of one process, each loaded once, at its first use."""

    def __init__(self, load: Callable[[str], TokenSource | None] = load_source) -> None:
        self._load = load
        self._lock = threading.RLock()
        self._tokenizers: dict[str, TokenCounter] = {}
        self._sources: dict[str, TokenSource | None] = {}

    def find(self, family: str) -> TokenCounter:
        """Find the counter of a family; see ``find_tokenizer``."""
        known = family if family in FAMILY_FACTORS else "o200k"
        found = self._tokenizers.get(known)
        if found is None:
            with self._lock:
                found = self._tokenizers.get(known) or self._make(known)
                self._tokenizers[known] = found
        return found

    def _make(self, family: str) -> TokenCounter:
        encoding = _FAMILY_ENCODINGS.get(family)
        source = self._source(encoding) if encoding else None
        if source is not None:
            guess = "cl100k" if family == "cl100k" else "o200k"
            return SourceTokenizer(source, guess, family, 1000, exact=True)
        source = None if family in ("o200k", "cl100k") else self._source("o200k_base")
        if source is None:
            return EstimateTokenizer(family)
        return SourceTokenizer(source, "o200k", family, FAMILY_FACTORS[family], exact=False)

    def _source(self, encoding: str) -> TokenSource | None:
        if encoding not in self._sources:
            self._sources[encoding] = self._load(encoding)
        return self._sources[encoding]


_tokenizer_shelf = TokenizerShelf()


def find_tokenizer(family: str) -> TokenCounter:
    """Find the best counter for a family on this machine.

    Args:
        family: as from ``family_of``; one that is not known counts as ``o200k``.

    Returns:
        An exact counter, or an exact one of another family times a factor, or the estimate. The
        same object for the life of the process; safe to use from several threads.

    Note:
        The first call loads a vocabulary: up to about a second, at most 150 MB.
    """
    return _tokenizer_shelf.find(family)


@lru_cache(maxsize=512)
def model_counter(model_id: str | None, scale_by_family: bool) -> TokenCounter:
    """The counter of a model: its own tokenizer, else the common one, scaled only if asked for."""
    counter = find_tokenizer(family_of(model_id))
    return counter if counter.exact or scale_by_family else find_tokenizer("o200k")
