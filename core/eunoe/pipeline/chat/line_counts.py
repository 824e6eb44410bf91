"""Count texts line by line: of a quoted block most lines were counted before, in another block.

Source: the vocabularies split a text into pieces first, and none of their patterns lets a piece
run over the end of a line, but for white space and slashes behind it. So the tokens of lines that
begin with anything else add up to those of the whole.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from eunoe.domain.ports import TokenCounter
from eunoe.pipeline.chat.opinion_memory import OpinionMemory
from eunoe.stages.counting.tokenizer import SourceTokenizer

_LINE_OVERHEAD_BYTES = 200
_NEXT_LINE = re.compile(r"\n(?=[^\s/])")


class LineTokenizer:
    """Counts as a vocabulary does, and remembers the lines.

    Args:
        whole: the counter of a vocabulary.
        known: its tokens of lines, by the line with its end.
    """

    def __init__(self, whole: SourceTokenizer, known: OpinionMemory[int]) -> None:
        self._whole, self._known = whole, known
        self.name, self.exact = whole.name, whole.exact

    def count(self, text: str) -> int:
        """Tokens of the text."""
        if len(text) > self._whole.source.longest_piece:
            return self._whole.count(text)
        lines = split_lines(text)
        known = self._known.get_all(lines)
        total = sum([tokens for tokens in known if tokens is not None])
        missing = [line for line, tokens in zip(lines, known, strict=True) if tokens is None]
        for line, tokens in zip(missing, self._whole.count_batch(missing), strict=True):
            self._known.put(line, tokens, len(line) + _LINE_OVERHEAD_BYTES)
            total += tokens
        return total

    def count_batch(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text."""
        return [self.count(text) for text in texts]


def by_lines(counter: TokenCounter, known: OpinionMemory[int]) -> TokenCounter:
    """The same counter, by lines where their tokens add up: those of a vocabulary without a factor.

    Args:
        known: tokens of lines by this counter.
    """
    if isinstance(counter, SourceTokenizer) and counter.permille == 1000:
        return LineTokenizer(counter, known)
    return counter


def split_lines(text: str) -> list[str]:
    """The lines of a text, each with its end; one that begins with white space stays with the last.

    Joined they are the text.
    """
    lines = text.split("\n")
    heads = {line[:1] for line in lines[1:]}
    if "" in heads or "/" in heads or any(map(str.isspace, heads)):
        lines = _NEXT_LINE.split(text)
    last = lines.pop()
    return [*[f"{line}\n" for line in lines], last]
