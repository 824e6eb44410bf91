import pytest
from hypothesis import given
from hypothesis import strategies as st

from eunoe.stages.scoring.boilerplate import without_boilerplate

FORM = "You answer in French.\n{}\nThe time is late."
BEFORE = [FORM.format("How old is the bridge?"), FORM.format("Who built it?")]
lines = st.lists(st.sampled_from(["a line", "another line", "word", "", "  a line "]), max_size=6)
texts = lines.map("\n".join)


@pytest.mark.parametrize(
    ("text", "before", "left"),
    [
        (FORM.format("Where is it?"), BEFORE, "Where is it?"),
        (FORM.format("Where is it?"), BEFORE[:1], None),
        (FORM.format("Where is it?"), [*BEFORE, "no line of it"], None),
        (BEFORE[0], [BEFORE[0], BEFORE[0]], None),
        ("You answer in French.", BEFORE, None),
        ("  You answer in French.  \nWhere?", BEFORE, "Where?"),
        ("```\nx = 1\n```", ["```\ny\n```"] * 2, None),
        ("", ["", ""], None),
    ],
    ids=[
        "a template", "once is no habit", "not in each", "nothing else", "one line",
        "space does not count", "one word is no line of words", "nothing",
    ],
)  # fmt: skip
def test_lines_that_stand_in_each_text_before_are_left_out(text, before, left):
    assert without_boilerplate(text, before) == (text if left is None else left)


@pytest.mark.property
@given(texts, st.lists(texts, max_size=3))
def test_nothing_is_added_and_something_is_left(text, before):
    left = without_boilerplate(text, before)
    rest = iter(text.split("\n"))
    assert all(line in rest for line in left.split("\n"))
    assert bool(left.strip()) == bool(text.strip())
    assert without_boilerplate(text, []) == text
