"""A summary as it may be shown: nothing in it that its source lacks, and no longer than allowed."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from eunoe.stages.claims import ClaimSource
from eunoe.stages.clipping import clip_text
from eunoe.stages.excerpts import split_sentences
from eunoe.stages.scoring.words import terms_of_text

SUMMARY_SENTENCE_CHARACTERS = 300
"""A sentence of the source that takes the place of one that was invented is no longer."""

_THOUGHTS = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)
_WRAPPING = re.compile(r"\A\s*```\w*\n(.*)\n```\s*\Z|\A\s*</?summary[^>]*>\s*", re.DOTALL)
_MACHINE_FAULT = re.compile(
    r"\A\W*\"?(?:error|detail)\"\s*:|\ATraceback \(most recent call last\)"
    r"|\A<(?:!doctype html|html)\b|\A[\w.]*[a-z](?:Error|Exception): ",
    re.IGNORECASE,
)
_SPOKEN_FAULT = re.compile(
    r"\A(?:[\s\"'\[(⚠❌\uFE0F]|\*\*)*(?:"
    r"(?:an? )?(?:\w+ )?(?:error|exception)\b\W*(?:[:(]|\d|\Z|code\b|(?:has )?occurred\b)"
    r"|(?:http )?[45]\d\d\b\W*(?:too many|bad|internal|unauthori|forbidden|not found|service|\Z)"
    r"|(?:i'?m |i am |we are )?(?:very |so )?sorry\b\W*(?:but\b|i\b|we\b|something\b|\Z)"
    r"|i(?:'m| am| was)? (?:can(?:no|')t|unable to|not able to) (?:help|assist|summar|provide|do|"
    r"comply|process|fulfil|continue|complete|access|see|answer|generate|create|share)"
    r"|as an ai(?: language)?(?: model| assistant|,)"
    r"|rate.?limit(?:ed)?\b\W*(?:exceeded|reached|hit|error|\Z)"
    r"|too many requests\b\W*(?:please|try|retry|slow|\Z))",
    re.IGNORECASE,
)
_SPOKEN_FAULT_CHARACTERS = 300
"""What is longer is no such sentence, whatever it begins with."""

_READ_CHARACTERS_FOR_A_TOKEN = 48
"""Of an answer that is far too long only the beginning is read: four times what may be shown, at
the twelve characters that a token takes at most in any prose. Each line is looked up in all of the
source, so that an answer of a megabyte took minutes."""

_FEWEST_LETTERS = 12
_LEAST_ALIKE = 0.3


@dataclass(frozen=True, eq=False)
class SummarySource:
    """What a summary sums up.

    Attributes:
        texts: the summary before, if there is one, and the messages.
    """

    texts: tuple[str, ...]

    @cached_property
    def claims(self) -> ClaimSource:
        """Where claims are looked up."""
        return ClaimSource(self.texts)

    @cached_property
    def sentences(self) -> list[tuple[str, frozenset[str]]]:
        """Each sentence that is not too long, with its terms."""
        pieces = [t[a:b] for t in self.texts for a, b in split_sentences(t, 0, len(t))]
        short = (p for p in pieces if len(p) <= SUMMARY_SENTENCE_CHARACTERS)
        return [(p, frozenset(summary_terms(p))) for p in short]

    def nearest(self, line: str) -> str | None:
        """The sentence that says most of what a line says; None if none is near."""
        wanted = frozenset(summary_terms(line))
        best, found = 0.0, None
        for sentence, terms in self.sentences:
            shared = len(wanted & terms)
            alike = shared / (len(wanted | terms) or 1)
            if shared > 1 and alike > best:
                best, found = alike, sentence
        return found if best >= _LEAST_ALIKE else None


def honest_summary(
    text: str, source: SummarySource, max_tokens: int, count: Callable[[str], int]
) -> str | None:
    """A summary without what was invented, shortened to its first lines.

    A sentence with a number, path, identifier or quotation that the source lacks gives way to the
    sentence of the source that is most like it, in quotation marks, or to nothing.

    Args:
        text: what a model wrote; one that is many times too long is read from its beginning.
        source: what it was shown.
        max_tokens: that the summary may take.
        count: tokens of a text.

    Returns:
        The summary; None if it is no summary: empty, an error, a refusal, or all invented.
    """
    plain = _THOUGHTS.sub("", text)
    plain = _WRAPPING.sub(lambda m: m[1] or "", plain).replace("</summary>", "").strip()
    if _is_fault(plain):
        return None
    read = _whole_lines(plain, max_tokens * _READ_CHARACTERS_FOR_A_TOKEN)
    lines = [_honest_line(line, source) for line in read.split("\n")]
    kept = [line for line in dict.fromkeys(lines) if line.strip()]
    if sum(map(str.isalnum, "".join(kept))) < _FEWEST_LETTERS:
        return None
    return first_lines("\n".join(kept), max_tokens, count)


def _is_fault(text: str) -> bool:
    """Whether a text is an error or a refusal, not a summary that speaks of errors.

    What a machine writes is told by its form; what is said, by its beginning where it is all.
    """
    short = len(text) <= _SPOKEN_FAULT_CHARACTERS and text.count("\n") < 3
    said = _SPOKEN_FAULT.match(text) if short else None
    return said is not None or _MACHINE_FAULT.match(text) is not None


def _whole_lines(text: str, characters: int) -> str:
    """The beginning of a text, up to the end of a line, else of a word."""
    if len(text) <= characters:
        return text
    end = max(text.rfind("\n", 0, characters), 0) or max(text.rfind(" ", 0, characters), 0)
    return text[: end or characters]


def first_lines(text: str, max_tokens: int, count: Callable[[str], int]) -> str | None:
    """As many whole lines as fit, the first clipped if it alone does not; None if nothing fits."""
    if count(text) <= max_tokens:
        return text
    lines = text.split("\n")

    def is_too_long(size: int) -> bool:
        return count("\n".join(lines[:size])) > max_tokens

    size = bisect_left(range(1, len(lines)), True, key=is_too_long)
    if size > 1 or (size and count(lines[0]) > max_tokens // 2):
        return "\n".join(lines[:size])
    return clip_text(text, max_tokens, count)


def _honest_line(line: str, source: SummarySource) -> str:
    if not source.claims.lacks(line):
        return line.rstrip()
    kept: list[str] = []
    for start, stop in split_sentences(line, 0, len(line)):
        sentence = line[start:stop]
        if not source.claims.lacks(sentence):
            kept.append(sentence)
        elif (found := source.nearest(sentence)) is not None:
            kept.append(f"“{found}”")
    return " ".join(dict.fromkeys(kept))


def summary_terms(text: str) -> list[str]:
    """The terms of a piece of text, stop words apart."""
    return terms_of_text(text)
