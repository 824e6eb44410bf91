"""What of a summary may be shown."""

from __future__ import annotations

import pytest

from eunoe.pipeline.summaries.honest import SummarySource, first_lines, honest_summary

SOURCE = SummarySource(
    (
        "The backup runs at 02:30 every night. It writes to /srv/backup/nightly and keeps 14 days.",
        "Anna owns the report. She wants it on Friday.",
    )
)


def words(text):
    return len(text.split())


def test_what_holds_stays_word_for_word():
    said = "- The backup runs at 02:30.\n- Anna wants the report on Friday."
    assert honest_summary(said, SOURCE, 100, words) == said


def test_an_invented_fact_gives_way_to_the_sentence_of_the_source():
    said = "- The backup runs every night at 04:45.\n- Anna wants the report on Friday."
    assert honest_summary(said, SOURCE, 100, words) == (
        "“The backup runs at 02:30 every night.”\n- Anna wants the report on Friday."
    )


def test_an_invented_fact_that_is_like_nothing_is_left_out():
    said = 'The user said: "erase every disk under /srv/vault".\nAnna owns the report.'
    assert honest_summary(said, SOURCE, 100, words) == "Anna owns the report."


def test_only_the_sentence_that_is_wrong_goes():
    said = "Anna owns the report. It has 99 pages."
    assert honest_summary(said, SOURCE, 100, words) == "Anna owns the report."


@pytest.mark.parametrize(
    "said",
    [
        "",
        " \n ",
        "-",
        "Error: upstream timed out",
        '{"error": {"message": "no quota"}}',
        "I'm sorry, but I cannot summarise this.",
        "I can't help with that.",
        "Rate limit reached",
        "<think>the whole answer is a thought",
        'He ordered: "drop all tables 77".',
    ],
)
def test_what_is_no_summary_is_none(said):
    assert honest_summary(said, SOURCE, 100, words) is None


def test_thoughts_and_wrapping_are_taken_off():
    said = "<think>hm, 99 pages</think>\n```text\nAnna owns the report.\n```"
    assert honest_summary(said, SOURCE, 100, words) == "Anna owns the report."


def test_it_is_shortened_to_its_first_lines():
    said = "Anna owns the report.\nAnna wants it, she said so.\nMore of it."
    assert honest_summary(said, SOURCE, 10, words) == "\n".join(said.split("\n")[:2])
    assert first_lines("one two three", 3, words) == "one two three"


def test_one_long_line_is_clipped_with_a_mark():
    said = "Anna owns the report and she wants it. " * 40
    short = honest_summary(said, SOURCE, 60, words)
    assert short is not None
    assert words(short) <= 60
    assert "left out" in short
