"""The part of a long text that matters: found, bounded, marked, never inside a character."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eunoe.stages.excerpts import (
    EXCERPT_READ_CHARACTERS,
    ExcerptUnit,
    best_spans,
    cut_excerpt,
    local_worth,
    regions_to_read,
    split_sentences,
    with_context,
)

FILLER = "The weather in town {} was mild and nothing happened."
LONG = "\n".join(FILLER.format(i) for i in range(60))


def words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+|[\u4e00-\u9fff]", text.lower())


def sizes(texts: Sequence[str]) -> list[int]:
    return [len(text) // 3 + 1 for text in texts]


def cut(text: str, question: str, most: int = 60) -> str | None:
    return cut_excerpt(text, dict.fromkeys(words(question), 1.0), words, sizes, most)


def pieces(text: str) -> list[str]:
    return [text[a:b] for a, b in split_sentences(text, 0, len(text))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        ("It works with v1.2 and e.g. 3.5 too.", ["It works with v1.2 and e.g. 3.5 too."]),
        ("Ask Mrs. Roth or Dr. Weiss. Go!", ["Ask Mrs. Roth or Dr. Weiss.", "Go!"]),
        ("Frau Prof. Dr. Kern kam. Gut.", ["Frau Prof. Dr. Kern kam.", "Gut."]),
        ("The firms. All of them.", ["The firms.", "All of them."]),
        ("1. first\n2. second", ["1. first", "2. second"]),
        ("- a\n\n- b\n  * c", ["- a", "- b", "* c"]),
        ("数据库端口是5432。密码是红色的！", ["数据库端口是5432。", "密码是红色的！"]),
        ("He said “stop.” She ran.", ["He said “stop.”", "She ran."]),
        ("मैं घर गया। वह आया।", ["मैं घर गया।", "वह आया।"]),
        ("أين هو؟ هنا.", ["أين هو؟", "هنا."]),
        ("", []),
        ("  \n \n", []),
    ],
)
def test_sentences_lines_and_items(text, expected):
    assert pieces(text) == expected


@given(st.text(max_size=300), st.text(min_size=1, max_size=5))
def test_pieces_are_in_order_and_leave_only_white_space_out(text, glue):
    text = glue.join([text] * 3)
    end = 0
    for a, b in split_sentences(text, 0, len(text)):
        assert a >= end
        assert b > a
        assert not text[end:a].strip()
        end = b
    assert not text[end:].strip()


def test_the_sentence_that_answers_is_found():
    text = LONG.replace(FILLER.format(41), "The gate code of the garden is 7391.")
    excerpt = cut(text, "what is the gate code of the garden")
    assert excerpt is not None
    assert "gate code of the garden is 7391" in excerpt
    assert excerpt.startswith("… ")
    assert excerpt.endswith(" …")


def test_two_places_are_joined_by_a_mark():
    lines = LONG.split("\n")
    lines[5], lines[50] = "The gate code is 7391.", "The alarm code is 2846."
    excerpt = cut("\n".join(lines), "gate alarm", 90)
    assert excerpt is not None
    assert re.search(r"7391.* … .*2846", excerpt, re.DOTALL)


def test_what_follows_comes_along():
    text = LONG.replace(FILLER.format(20), "And the allergy column?\nIt is called may_contain.")
    excerpt = cut(text, "allergy column")
    assert excerpt is not None
    assert "may_contain" in excerpt


def test_a_short_text_has_no_marks():
    assert cut("The code is 7391.", "code") == "The code is 7391."


def test_nothing_is_cut_where_nothing_is_said():
    assert cut(LONG, "zebra") is None
    assert cut("", "zebra") is None
    assert cut(LONG, "") is None
    assert cut(LONG, "weather", 3) is None


def test_a_word_of_every_sentence_tells_nothing():
    units = [
        ExcerptUnit(i, i + 1, frozenset({"a"} | ({"b"} if i == 3 else set())), 5) for i in range(9)
    ]
    worth = local_worth(units, {"a": 1.0, "b": 1.0, "c": 1.0})
    assert sum(worth.values()) == pytest.approx(1.0)
    assert worth["b"] > 3 * worth["a"]
    assert "c" not in worth


def test_spans_are_apart_in_order_and_fit():
    held = {2: "a", 3: "b", 9: "c", 15: "a"}
    units = [
        ExcerptUnit(i, i + 1, frozenset(held[i]) if i in held else frozenset(), 10)
        for i in range(20)
    ]
    worth = dict.fromkeys("abc", 1 / 3)
    assert best_spans(units, worth, 40) == [(2, 3), (9, 9)]
    assert best_spans(units, worth, 60) == [(2, 3), (9, 9), (15, 15)]
    assert best_spans(units, worth, 20) == [(2, 3)]
    assert best_spans(units, worth, 9) == []
    assert with_context(units, [(2, 3)], 40) == [(2, 5)]
    assert with_context(units, [(18, 19)], 30) == [(17, 19)]


TEXT = st.lists(
    st.sampled_from(
        ["code", "gate.", "好的。", "👩\u200d🔬", "\n", "e\u0301", "x" * 400, " ", "🇩🇪🇫🇷" * 90]
    )
)


@given(TEXT.map(" ".join), st.integers(0, 60))
def test_an_excerpt_is_bounded_and_taken_from_the_text(text, most):
    excerpt = cut(text, "code gate 好", most)
    assert excerpt == cut(text, "code gate 好", most)
    if excerpt is None:
        return
    assert sizes([excerpt])[0] <= most
    for part in re.split(r" ?… ?", excerpt):
        assert part in text
        assert not part.startswith(("\u200d", "\u0301"))
        assert not part.endswith("\u200d")
        assert part.count("\U0001f1e9") == part.count("\U0001f1ea")


def test_huge_texts_are_read_in_part():
    text = "lorem ipsum dolor. " * 100_000
    needle = "The gate code of the garden is 7391. "
    for place in (0, 150_000, len(text) - 100_000, len(text)):
        huge = text[:place] + " " + needle + text[place:]
        regions = regions_to_read(huge, {"gate": 1.0, "garden": 1.0})
        assert sum(b - a for a, b in regions) <= EXCERPT_READ_CHARACTERS + 100
        excerpt = cut(huge, "gate garden")
        assert excerpt is not None
        assert "7391" in excerpt


def test_parts_of_a_huge_text_are_not_joined_over_what_was_not_read():
    text = "lorem ipsum dolor. " * 20_000
    huge = f"The gate is red. {text} The garden is green."
    excerpt = cut(huge, "gate garden", 100)
    assert excerpt is not None
    assert len(excerpt) < 400
    assert re.search(r"red\..* … .*green", excerpt, re.DOTALL)
