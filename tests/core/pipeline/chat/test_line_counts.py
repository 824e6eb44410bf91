"""Lines are counted once, and add up to what the whole text takes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eunoe.pipeline.chat.line_counts import LineTokenizer, by_lines, split_lines
from eunoe.pipeline.chat.opinion_memory import OpinionMemory
from eunoe.stages.counting.tokenizer import (
    EstimateTokenizer,
    SourceTokenizer,
    find_tokenizer,
)
from eunoe.stages.counting.vocabulary import TokenSource

ODD = st.text("a Z9\n\r\t/.:…'<>́ 　\x1c数\U0001f9e0é_-", max_size=60)
VOCABULARIES = [
    counter
    for family in ("o200k", "cl100k", "llama3", "qwen", "qwen3.5")
    if isinstance(counter := find_tokenizer(family), SourceTokenizer) and counter.permille == 1000
]


def counted_by(counter: SourceTokenizer) -> LineTokenizer:
    return LineTokenizer(counter, OpinionMemory(1_000_000))


class Words:
    """A source that counts words, and notes what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def tokenizer(self, permille: int = 1000) -> SourceTokenizer:
        source = TokenSource(name="words", count_all=self.count_all, longest_piece=100)
        return SourceTokenizer(source, "o200k", "o200k", permille, exact=True)

    def count_all(self, texts):
        self.asked += texts
        return [len(text.split()) for text in texts]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        pytest.param("", [""], id="nothing"),
        pytest.param("a\nb\n", ["a\n", "b\n"], id="the end of the last line"),
        pytest.param("a\n\nb", ["a\n\n", "b"], id="a blank line stays with the one before"),
        pytest.param("a\n  b\nc", ["a\n  b\n", "c"], id="so does white space"),
        pytest.param("a.\n/b", ["a.\n/b"], id="and a slash"),
        pytest.param("a\r\nb", ["a\r\n", "b"], id="both ends"),
    ],
)
def test_where_lines_are_parted(text, lines):
    assert split_lines(text) == lines


@given(text=ODD)
def test_lines_joined_are_the_text(text):
    assert "".join(split_lines(text)) == text


@pytest.mark.parametrize("counter", VOCABULARIES, ids=lambda c: c.name)
@given(text=ODD)
def test_lines_add_up(counter, text):
    assert counted_by(counter).count(text) == counter.count(text)


def test_a_line_is_counted_once():
    words = Words()
    lines = LineTokenizer(words.tokenizer(), OpinionMemory(10_000))
    assert lines.count("one two\nthree") == 3
    assert lines.count_batch(["one two\nthree four", "one two\n"]) == [4, 2]
    assert words.asked == ["one two\n", "three", "three four"]


def test_a_text_that_is_cut_to_be_counted_is_counted_whole():
    words = Words()
    text = "one two\n" * 20
    assert LineTokenizer(words.tokenizer(), OpinionMemory(10_000)).count(text) == 40
    assert "one two\n" not in words.asked


def test_other_counters_stay_as_they_are():
    known: OpinionMemory[int] = OpinionMemory(100)
    estimate = EstimateTokenizer("o200k")
    assert by_lines(estimate, known) is estimate
    scaled = Words().tokenizer(1100)
    assert by_lines(scaled, known) is scaled
    plain = by_lines(Words().tokenizer(), known)
    assert isinstance(plain, LineTokenizer)
    assert (plain.name, plain.exact) == ("words", True)
