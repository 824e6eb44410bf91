"""The gist: the sentences that cover most, word for word."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from eunoe.pipeline.summaries.gist import extractive_gist


def words(texts):
    return [len(text.split()) for text in texts]


CHAT = [
    ("user", "The backup server in Oslo runs at night. Thanks!"),
    ("assistant", "Noted: the backup server in Oslo runs at night. Anything else?"),
    ("user", "Invoices go to accounting before the tenth of each month. OK?"),
    ("assistant", "Fine."),
]


def test_the_sentences_that_say_most_come_in_order():
    gist = extractive_gist(CHAT, 40, words)
    assert gist is not None
    lines = gist.split("\n")
    assert lines[-1] == "user: Invoices go to accounting before the tenth of each month."
    assert any("backup server in Oslo" in line for line in lines)
    assert sum("Oslo" in line for line in lines) == 1  # said twice, told once


def test_nothing_to_tell_is_none():
    assert extractive_gist([("user", "Ok."), ("assistant", "Yes!")], 100, words) is None
    assert extractive_gist(CHAT, 3, words) is None
    assert extractive_gist([], 100, words) is None


@given(
    st.lists(st.tuples(st.sampled_from(["user", "assistant"]), st.text(max_size=120)), max_size=8),
    st.integers(0, 60),
)
def test_it_fits_and_says_nothing_of_its_own(messages, most):
    gist = extractive_gist(messages, most, words)
    if gist is None:
        return
    assert words([gist])[0] <= most
    told = " ".join(" ".join(text.split()) for _, text in messages)
    for line in gist.split("\n"):
        assert line.split(": ", 1)[1] in told
