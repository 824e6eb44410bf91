"""What a report charges, and how large the context was: two readings of one report."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eunoe.stages.accounting.billing import billed_use, context_tokens
from eunoe.stages.accounting.price import TokenUse
from eunoe.stages.counting.calibration import read_usage

OPENAI = {
    "prompt_tokens": 2006,
    "completion_tokens": 300,
    "total_tokens": 2306,
    "prompt_tokens_details": {"cached_tokens": 1920},
}
ANTHROPIC = {
    "input_tokens": 50,
    "cache_read_input_tokens": 1800,
    "cache_creation_input_tokens": 248,
    "output_tokens": 503,
}
LLAMA = {"cache_n": 236, "prompt_n": 14, "predicted_n": 35, "prompt_ms": 30.9}
# Three calls of a tool loop in Open WebUI: sums beside the last call.
LOOP = {
    "prompt_tokens": 6752,
    "completion_tokens": 20,
    "input_tokens": 24122,
    "output_tokens": 70,
    "total_tokens": 24192,
    "prompt_tokens_details": {"cached_tokens": 17000},
}


@pytest.mark.parametrize(
    ("usage", "billed", "context"),
    [
        (OPENAI, TokenUse(prompt=2006, cached=1920, completion=300), 2006),
        (ANTHROPIC, TokenUse(prompt=2098, cached=1800, written=248, completion=503), 2098),
        (LLAMA, TokenUse(prompt=250, cached=236, completion=35), 250),
        (LOOP, TokenUse(prompt=24122, cached=17000, completion=70), 6752),
        (
            {**OPENAI, "input_tokens": 2006, "output_tokens": 300},
            TokenUse(prompt=2006, cached=1920, completion=300),
            2006,
        ),
        (
            {**LOOP, "prompt_tokens_details": None, "cache_n": 6000},
            TokenUse(prompt=24122, cached=6000, completion=70),
            6752,
        ),
    ],
)
def test_reports(usage: dict[str, object], billed: TokenUse, context: int):
    assert billed_use(usage, read_usage(usage)) == billed
    assert context_tokens(usage, read_usage(usage)) == context


def test_the_sums_of_a_loop_are_not_taken_for_its_last_prompt():
    read = read_usage(LOOP)
    assert (read.prompt, read.completion) == (6752, 20)
    assert read.cached <= read.prompt


@pytest.mark.parametrize("usage", [None, {}, 3, "x", {"prompt_tokens": "12"}, {"input_tokens": -1}])
def test_what_is_no_report(usage: object):
    assert billed_use(usage, read_usage(usage)) is None
    assert context_tokens(usage, read_usage(usage)) is None


counts = st.integers(-5, 10**6) | st.none() | st.booleans() | st.floats() | st.text(max_size=3)


@given(
    st.dictionaries(
        st.sampled_from([*OPENAI, *ANTHROPIC, *LLAMA]),
        counts | st.dictionaries(st.just("cached_tokens"), counts),
    )
)
def test_any_report_is_read_or_left(usage: dict[str, object]):
    billed = billed_use(usage, read_usage(usage))
    context = context_tokens(usage, read_usage(usage))
    assert billed is None or billed.cached + billed.written <= billed.prompt
    assert context is None or context >= 0
