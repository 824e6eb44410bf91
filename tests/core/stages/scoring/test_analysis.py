import pytest
from hypothesis import given
from hypothesis import strategies as st

from eunoe.stages.scoring.analysis import ANALYSIS_CHARACTERS, analyse_text, split_stamp


def test_prefix_names_time_and_speaker_and_is_no_content():
    a = analyse_text("[1:56 pm on 8 May, 2023] Caroline: I went home", role="user")
    assert a.speaker == "caroline"
    assert a.stamp % 1440 == 13 * 60 + 56
    assert a.terms == ("go", "home")
    assert analyse_text("Caroline: I went home", role="user", name="Caroline").terms == a.terms


@pytest.mark.parametrize("text", ["Note: mind the gap", "TypeError: x is None", "[1, 2, 3] a"])
def test_what_looks_like_a_prefix_stays(text):
    a = analyse_text(text, role="user")
    assert a.speaker == ""
    assert a.stamp == 0
    assert len(a.terms) >= 1


def test_a_function_name_is_no_speaker():
    assert analyse_text("ok", role="tool", name="search").speaker == ""


def test_facts():
    a = analyse_text(
        "Hey Mel! I bought 3 bikes on 8 May 2023 in New York, see src/a.py", role="user"
    )
    assert a.addressed == "mel"
    assert a.dates == ((2023, 5, 8),)
    assert {"new york", "src/a.py"} <= set(a.entities)
    assert a.numbers == 3
    assert a.times >= 1
    assert not a.asks
    assert analyse_text("Always be brief", role="user").standing
    assert not analyse_text("Always be brief", role="assistant").standing


def test_counts_add_up():
    a = analyse_text("dog dogs cat", role="user")
    assert a.terms == ("dog", "cat")
    assert a.counts == (2, 1)
    assert a.length == 3


def test_a_huge_text_is_read_at_both_ends():
    text = "first " + "x " * ANALYSIS_CHARACTERS + "middle " + "x " * ANALYSIS_CHARACTERS + "end"
    terms = analyse_text(text, role="user").terms
    assert "first" in terms
    assert "end" in terms
    assert "middl" not in terms


@pytest.mark.property
@given(st.text(max_size=200), st.sampled_from(["user", "assistant", "tool", "system"]))
def test_pure_and_total(text, role):
    a = analyse_text(text, role=role)
    assert a == analyse_text(text, role=role)
    assert a.length == sum(a.counts) >= len(a.terms)
    assert len(set(a.terms)) == len(a.terms)


@pytest.mark.parametrize(
    "text",
    [
        "\ud800 broken",
        "\x00\x00",
        "2024 " * 50_000,
        "a." * 50_000,
        "あ" * 50_000,
        "12 May " * 9_000,
    ],
)
def test_odd_and_long_texts_are_read(text):
    a = analyse_text(text, role="user")
    assert len(a.dates) <= 64
    assert a.length >= 0


def test_a_stamp_is_split_off_and_other_brackets_are_not():
    assert split_stamp("[8 May, 2023] Caroline: hi")[0] == "Caroline: hi"
    assert split_stamp("[1, 2, 3] a") == ("[1, 2, 3] a", 0)
    assert split_stamp("") == ("", 0)
