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


FAULTS = [
    "Error: upstream timed out",
    "error",
    "**Error** (500)",
    "Error code: 429 - {'error': {'message': 'no quota'}}",
    "An error occurred while processing your request.",
    "HTTP 502 Bad Gateway",
    "429 Too Many Requests",
    "⚠️ Error: no credit",
    "openai.RateLimitError: Error code: 429",
    "Traceback (most recent call last):\n" + '  File "a.py", line 1\n' * 30,
    '{"error": {"message": "' + "x" * 900 + '"}}',
    '{"detail": "Not Found"}',
    "<html><body>" + "Bad gateway " * 90,
    "I'm sorry, but I can't summarize this conversation.",
    "Sorry, something went wrong.",
    "I am unable to summarize it.",
    "I cannot help with that.",
    "As an AI language model, I have no access.",
    "Rate limit exceeded, try again in 20 s",
    "Too many requests. Please slow down.",
]

TALES = [
    "- Error handling was moved to one module.\n- Anna owns it.",
    "Error handling was moved to one module.",
    "- Error: disk full, seen on two hosts; Anna looks into it.",
    "Exception classes got one base; errors are caught by type.",
    "Sorry states of the garden were noted: the fence, the shed.",
    "I can't eat nuts, the user said; the assistant plans without.",
    "Rate limits were raised; the client waits.",
    "Too many requests were dropped, so the queue was made longer.",
    "As an AI course they chose the one of Anna.",
    "Traceback of the fault: the parser read one line too far.",
    "Error: the parser read one line too far.\n" + "- The fence was mended and painted.\n" * 12,
    "Sorry, I was late, said Anna. " + "Then they spoke of the garden and the fence. " * 9,
]


@pytest.mark.parametrize("said", FAULTS)
def test_a_fault_is_no_summary(said):
    assert honest_summary(said, SummarySource((said,)), 9_000, words) is None


@pytest.mark.parametrize("said", TALES)
def test_a_summary_may_speak_of_faults(said):
    assert honest_summary(said, SummarySource((said,)), 9_000, words) is not None


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


def test_of_an_answer_that_is_far_too_long_only_the_beginning_is_read():
    looked_up = []

    class Watched(SummarySource):
        def nearest(self, line):
            looked_up.append(line)
            return super().nearest(line)

    invented = "\n".join(f"- Anna owns lot{i:06}." for i in range(50_000))
    said = f"- Anna owns the report.\n{invented}"
    shown = honest_summary(said, Watched(SOURCE.texts), 100, words)
    assert shown == "- Anna owns the report.\n“Anna owns the report.”"
    assert 100 < len(looked_up) < 300


def test_the_first_lines_are_found_without_counting_each():
    asked = []

    def counted(text):
        asked.append(text)
        return words(text)

    text = "\n".join(f"line {i}" for i in range(1_000))
    assert first_lines(text, 501, counted) == "\n".join(f"line {i}" for i in range(250))
    assert len(asked) < 20
