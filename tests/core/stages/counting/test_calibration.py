"""Reading reported usage, and learning from it."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eunoe.stages.counting.calibration import (
    CALIBRATION_HIGHEST,
    CALIBRATION_LOWEST,
    CALIBRATION_WINDOW,
    Calibration,
    Usage,
    read_usage,
    reports_cache,
)


def usage(prompt, cached=0, written=0, completion=0):
    return Usage(prompt=prompt, cached=cached, written=written, completion=completion)


@pytest.mark.parametrize(
    ("reported", "expected"),
    [
        pytest.param(
            {"prompt_tokens": 100, "completion_tokens": 7}, usage(100, completion=7), id="plain"
        ),
        pytest.param(
            {"prompt_tokens": 100, "prompt_tokens_details": {"cached_tokens": 64}},
            usage(100, 64),
            id="OpenAI: cached is a part",
        ),
        pytest.param(
            {"prompt_tokens": 100, "prompt_tokens_details": None, "cached_tokens": 64},
            usage(100, 64),
            id="cached beside it",
        ),
        pytest.param(
            {
                "input_tokens": 100,
                "input_tokens_details": {"cached_tokens": 60},
                "output_tokens": 5,
            },
            usage(100, 60, completion=5),
            id="OpenAI responses",
        ),
        pytest.param(
            {
                "input_tokens": 10,
                "cache_read_input_tokens": 80,
                "cache_creation_input_tokens": 20,
                "output_tokens": 5,
            },
            usage(110, 80, 20, 5),
            id="Anthropic: three parts",
        ),
        pytest.param(
            {"input_tokens": 10, "cache_read_input_tokens": None, "cache_creation_input_tokens": 9},
            usage(19, 0, 9),
            id="Anthropic: nothing read",
        ),
        pytest.param(
            {"input_tokens": 10, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0},
            usage(10),
            id="Anthropic: no cache",
        ),
        pytest.param(
            {
                "prompt_tokens": 110,
                "prompt_tokens_details": {"cached_tokens": 80},
                "cache_read_input_tokens": 80,
                "cache_creation_input_tokens": 20,
            },
            usage(110, 80, 20),
            id="Anthropic through a proxy",
        ),
        pytest.param(
            {
                "prompt_tokens": 10,
                "cache_read_input_tokens": 80,
                "cache_creation_input_tokens": 20,
            },
            usage(110, 80, 20),
            id="a proxy that leaves the cache out",
        ),
        pytest.param(
            {"input_tokens": 100, "input_token_details": {"cache_read": 60, "cache_creation": 30}},
            usage(100, 60, 30),
            id="LangChain",
        ),
        pytest.param(
            {"prompt_n": 640, "cache_n": 30000, "predicted_n": 100},
            usage(30640, 30000, completion=100),
            id="llama.cpp",
        ),
        pytest.param(
            {"prompt_tokens": 640, "completion_tokens": 9, "timings": {"prompt_n": 640}},
            usage(640, completion=9),
            id="timings beside usage",
        ),
        pytest.param(
            {"prompt_tokens": 61280, "prompt_n": 640, "cache_n": 30000},
            usage(30640, 30000),
            id="timings merged in, prompt counted twice",
        ),
        pytest.param(
            {"prompt_tokens": 30640, "prompt_n": 640, "completion_tokens": 3},
            usage(30640, 30000, completion=3),
            id="old timings without a cache",
        ),
        pytest.param(
            {
                "prompt_tokens": 6752,
                "completion_tokens": 30,
                "input_tokens": 24122,
                "output_tokens": 70,
                "total_tokens": 24192,
            },
            usage(6752, completion=30),
            id="Open WebUI: a tool loop",
        ),
        pytest.param(
            {"prompt_eval_count": 50, "eval_count": 6}, usage(50, completion=6), id="Ollama"
        ),
        pytest.param(
            {"promptTokenCount": 50, "cachedContentTokenCount": 40, "candidatesTokenCount": 6},
            usage(50, 40, completion=6),
            id="Gemini",
        ),
        pytest.param(
            {"prompt_tokens": 50, "prompt_cache_hit_tokens": 40}, usage(50, 40), id="DeepSeek"
        ),
        pytest.param({"usage": {"prompt_tokens": 50}}, usage(50), id="a whole answer"),
        pytest.param({"timings": {"prompt_n": 5, "cache_n": 6}}, usage(11, 6), id="only timings"),
        pytest.param({"prompt_tokens": 50.0}, usage(50), id="a float"),
        pytest.param({"prompt_tokens": 0}, None, id="zero"),
        pytest.param({"prompt_tokens": -3}, None, id="below zero"),
        pytest.param({"prompt_tokens": math.nan}, None, id="not a number"),
        pytest.param({"prompt_tokens": math.inf}, None, id="infinite"),
        pytest.param({"prompt_tokens": True}, None, id="a truth value"),
        pytest.param({"prompt_tokens": "12"}, None, id="a string"),
        pytest.param({"prompt_tokens": 10**400}, usage(10**400), id="enormous"),
        pytest.param({"completion_tokens": 3}, None, id="no prompt"),
        pytest.param({"usage": {"usage": {"prompt_tokens": 3}}}, None, id="too deep"),
        pytest.param({}, None, id="empty"),
        pytest.param(None, None, id="None"),
        pytest.param([("prompt_tokens", 3)], None, id="a list"),
        pytest.param("prompt_tokens", None, id="text"),
    ],
)
def test_usage_is_read_in_every_form(reported, expected):
    assert read_usage(reported) == expected


KEYS = (
    "prompt_tokens input_tokens cached_tokens prompt_n cache_n predicted_n output_tokens usage "
    "timings prompt_tokens_details input_token_details cache_read cache_read_input_tokens "
    "cache_creation_input_tokens completion_tokens cache_creation"
).split()
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=3)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(KEYS), inner, max_size=5)
    ),
    max_leaves=12,
)


@given(st.one_of(JSON, st.dictionaries(st.one_of(st.sampled_from(KEYS), st.integers()), JSON)))
def test_odd_usage_never_raises_and_parts_never_exceed_the_whole(reported):
    read = read_usage(reported)
    if read is not None:
        assert read.prompt > 0
        assert 0 <= read.cached <= read.prompt
        assert 0 <= read.written <= read.prompt
        assert read.completion >= 0


def learned(*ratios):
    calibration = Calibration()
    for ratio in ratios:
        calibration = calibration.learn(1000, usage(round(1000 * ratio)))
    return calibration


@pytest.mark.parametrize(
    ("ratios", "factor"),
    [
        pytest.param((), 1.0, id="nothing learned"),
        pytest.param((1.2,), 1.1, id="one report is half believed"),
        pytest.param((1.2, 1.3), 1.2, id="of two the milder"),
        pytest.param((0.8, 1.3), 1.0, id="two that disagree"),
        pytest.param((1.2, 1.25, 1.3), 1.25, id="the median of three"),
        pytest.param((1.2, 1.2, 1.2, 3.9), 1.2, id="one far off moves nothing"),
        pytest.param((3.0, 3.0, 3.0), 2.0, id="clipped above"),
        pytest.param((0.3, 0.3, 0.3), 0.5, id="clipped below"),
        pytest.param((5.0, 5.0, 5.0), 1.0, id="not about one prompt"),
        pytest.param((1.5,) * 9 + (1.1,) * 9, 1.1, id="the old is forgotten"),
    ],
)
def test_the_factor_is_the_median_of_the_newest_ratios(ratios, factor):
    calibration = learned(*ratios)
    assert calibration.factor == pytest.approx(factor)


@pytest.mark.parametrize(
    ("counted", "reported"),
    [(1000, None), (0, usage(500)), (20, usage(500)), (500, usage(20)), (-5, usage(500))],
)
def test_reports_that_say_nothing_change_nothing(counted, reported):
    assert Calibration().learn(counted, reported) is not None
    before = learned(1.2)
    assert before.learn(counted, reported) is before


@given(st.lists(st.tuples(st.integers(0, 10**9), st.integers(1, 10**9))))
def test_a_calibration_stays_in_bounds(reports):
    calibration = Calibration()
    for counted, prompt in reports:
        calibration = calibration.learn(counted, usage(prompt))
    assert len(calibration.ratios) <= CALIBRATION_WINDOW
    assert CALIBRATION_LOWEST <= calibration.factor <= CALIBRATION_HIGHEST


@pytest.mark.parametrize(
    ("usage", "told"),
    [
        ({"prompt_tokens": 9}, False),
        ({"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 0}}, True),
        ({"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": None}}, False),
        ({"input_tokens": 9, "cache_read_input_tokens": 0}, True),
        ({"input_tokens": 9, "input_token_details": {"cache_read": 3}}, True),
        ({"timings": {"prompt_n": 9, "cache_n": 0}}, True),
        ({"prompt_n": 9}, False),
        ({"usageMetadata": {"promptTokenCount": 9, "cachedContentTokenCount": 4}}, True),
        (None, False),
        ("text", False),
    ],
)
def test_whether_a_report_tells_of_the_cache(usage: object, told: bool) -> None:
    assert reports_cache(usage) is told
