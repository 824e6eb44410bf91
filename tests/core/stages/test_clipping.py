from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eunoe.stages.clipping import clip_sources, clip_text

MARKER = re.compile(r"\n… \[([\d,]+) characters left out\] …\n")


def characters(text: str) -> int:
    return len(text)


def words(text: str) -> int:
    return len(text.split())


def halves(clipped: str) -> tuple[str, str, int]:
    """Head, tail and the number that the marker names."""
    head, left_out, tail = MARKER.split(clipped)
    return head, tail, int(left_out.replace(",", ""))


def test_head_and_tail_stay_around_a_marker():
    text = " ".join(f"word{i}" for i in range(400))
    clipped = clip_text(text, 300, characters)
    assert clipped is not None
    head, tail, left_out = halves(clipped)
    assert text.startswith(head)
    assert text.endswith(tail)
    assert len(head) + left_out + len(tail) == len(text)
    assert len(head) > len(tail) > 0
    assert len(clipped) <= 300


@pytest.mark.parametrize(
    ("separator", "left", "right"),
    [
        pytest.param("\n\n", "\n\n", "", id="paragraphs"),
        pytest.param("\n", "\n", "", id="lines"),
        pytest.param(". ", ". ", "", id="sentences"),
        pytest.param(" ", " ", "", id="words"),
    ],
)
def test_the_cut_stands_at_a_boundary(separator, left, right):
    text = separator.join("abcdefghi" for _ in range(200))
    clipped = clip_text(text, 400, characters)
    assert clipped is not None
    head, tail, _ = halves(clipped)
    assert head.endswith("abcdefghi" + left)
    assert tail.startswith("abcdefghi")


def test_paragraphs_are_better_than_lines_and_lines_than_words():
    text = ("one two\nthree. four\n\n" * 60).strip()
    clipped = clip_text(text, 300, characters)
    assert clipped is not None
    head, tail, _ = halves(clipped)
    assert head.endswith("\n\n")
    assert tail.startswith(("one two", "three"))


CLUSTERS = {
    "combining marks": "e\u0301\u0327",
    "emoji with a joiner": "👩\u200d💻",
    "family": "👨\u200d👩\u200d👧\u200d👦",
    "skin tone": "👍\U0001f3fd",
    "flag of a country": "🇨🇭",
    "flag of a region": "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
    "rainbow flag": "🏳\ufe0f\u200d🌈",
    "keycap": "1\ufe0f\u20e3",
    "line break of two": "\r\n",
    "vowel signs": "नि",
    "tone marks": "ที่",
    "conjunct of two consonants": "क्षि",
    "conjunct with a joiner": "क्\u200dष",
    "syllable in letters": "\u1112\u1161\u11ab",
    "syllable with a final behind it": "하\u11ab",
    "narrow voiced kana": "ﾊﾟ",
    "vowel that stands behind": "กำ",
}


@pytest.mark.parametrize("name", CLUSTERS)
@pytest.mark.parametrize("budget", range(90, 110))
def test_no_cut_inside_what_looks_like_one_character(name, budget):
    cluster = CLUSTERS[name]
    clipped = clip_text(cluster * 300, budget, characters)
    assert clipped is not None
    head, tail, left_out = halves(clipped)
    assert len(head) % len(cluster) == 0
    assert len(tail) % len(cluster) == 0
    assert left_out == 300 * len(cluster) - len(head) - len(tail)


@pytest.mark.parametrize("budget", range(90, 190))
def test_no_cut_inside_a_line_break_of_two(budget):
    clipped = clip_text(("x" * 61 + "\r\n") * 40, budget, characters)
    assert clipped is not None
    head, tail, _ = halves(clipped)
    assert not head.endswith("\r")
    assert not tail.startswith("\n")


def test_a_single_regional_letter_before_flags_is_counted():
    text = "🇨" + "🇩🇪" * 200
    clipped = clip_text(text, 100, characters)
    assert clipped is not None
    head, _, _ = halves(clipped)
    assert len(head) % 2 == 0


@pytest.mark.parametrize("text", ["", "a", "abc", "abcdefg"])
def test_what_is_too_short_is_not_clipped(text):
    assert clip_text(text, 3, characters) is None


def test_no_room_for_the_marker_gives_nothing():
    assert clip_text("x" * 1000, 20, characters) is None
    assert clip_text("x" * 1000, 0, characters) is None


class Meter:
    """Counts a token for every four characters, and how many characters it was shown."""

    def __init__(self) -> None:
        self.shown = 0

    def __call__(self, text: str) -> int:
        self.shown += len(text)
        return len(text) // 4


def test_five_megabytes_are_clipped_by_looking_at_little():
    meter = Meter()
    text = "so it goes. " * 420_000
    clipped = clip_text(text, 2000, meter)
    assert clipped is not None
    assert meter(clipped) <= 2000
    assert meter.shown < 150_000
    blank = clip_text("\u0301" * 5_000_000, 2000, Meter())
    assert blank is not None


def test_sources_are_shortened_before_anything_else():
    inside = "\n".join(f"line {i} of the document" for i in range(100))
    sources = f'<source id="1">{inside}</source>\n<source id="2">{inside}</source>'
    text = f"Use this.\n{sources}\nWhat is line 3?"
    clipped = clip_sources(text, 300, words)
    assert clipped is not None
    assert words(clipped) <= 300
    assert clipped.startswith('Use this.\n<source id="1">line 0 of')
    assert clipped.endswith("</source>\nWhat is line 3?")
    assert clipped.count("characters left out") == 2
    assert clipped.count("<source") == clipped.count("</source>") == 2


@pytest.mark.parametrize(
    ("text", "budget", "expected"),
    [
        pytest.param("no sources here", 2, None, id="no sources"),
        pytest.param("<source>a b</source>", 9, "<source>a b</source>", id="it fits already"),
        pytest.param("<source>a b</source> " + "w " * 50, 20, None, id="they cannot free enough"),
        pytest.param("<source>never closed " + "w " * 50, 20, None, id="not closed"),
    ],
)
def test_sources_that_do_not_help(text, budget, expected):
    assert clip_sources(text, budget, words) == expected


def test_a_source_too_short_to_clip_is_elided():
    text = "<source>" + "abcdefg" + "</source>" + "<source>" + "word " * 300 + "</source>"
    clipped = clip_sources(text, 100, words)
    assert clipped is not None
    assert clipped.startswith("<source>…</source><source>word")


@pytest.mark.property
@settings(max_examples=200)
@given(
    text=st.text(st.sampled_from("a \n.é\u0301👩\u200d💻🇨🇭\r字"), min_size=60, max_size=400),
    budget=st.integers(40, 200),
)
def test_a_clip_is_head_and_tail_and_fits(text, budget):
    clipped = clip_text(text, budget, characters)
    if clipped is None:
        return
    assert len(clipped) <= budget
    head, tail, left_out = halves(clipped)
    assert text.startswith(head)
    assert text.endswith(tail)
    assert len(head) + len(tail) + left_out == len(text)
