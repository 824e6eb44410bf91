from __future__ import annotations

import json
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eunoe_proxy.answers import AnswerWatch
from eunoe_proxy.metrics import ProxyMetrics
from proxied import DONE, delta, event

STREAM = [(b"Content-Type", b"text/event-stream")]
JSON = [(b"content-type", b"application/json; charset=utf-8")]
USAGE = {"prompt_tokens": 7, "completion_tokens": 2}


def watched(data: bytes, headers=STREAM, status=200, size=1) -> AnswerWatch:
    watch = AnswerWatch(status, headers)
    for start in range(0, len(data), size):
        watch.feed(data[start : start + size])
    return watch


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param(delta("a") + event(choices=[], usage=USAGE) + DONE, USAGE, id="last chunk"),
        pytest.param(event(choices=[1], usage=USAGE), USAGE, id="with choices"),
        pytest.param(event(usage=USAGE) + event(usage=None), USAGE, id="null after it"),
        pytest.param(event(usage=USAGE).replace(b"\n", b"\r\n"), USAGE, id="other line ends"),
        pytest.param(event(usage=USAGE).strip(), USAGE, id="no line end"),
        pytest.param(
            event(timings={"prompt_n": 3}), {"timings": {"prompt_n": 3}}, id="llama.cpp's times"
        ),
        pytest.param(delta('"usage"') + DONE, None, id="only text"),
        pytest.param(b'data: {"usage": nonsense}\n', None, id="nonsense"),
        pytest.param(b'data: ["usage"]\n', None, id="a list"),
        pytest.param(b': "usage"\n\n', None, id="a comment"),
        pytest.param(b"data: " + b"x" * 1_100_000 + b'"usage"\n', None, id="a long line"),
        pytest.param(
            b"data: " + b"x" * 1_100_000 + b"\n" + event(usage=USAGE), USAGE, id="after a long line"
        ),
        pytest.param(b"", None, id="nothing"),
    ],
)
@pytest.mark.parametrize("size", [7, 100_000])
def test_usage_of_a_stream(data, expected, size):
    watch = watched(data, size=size if len(data) < 10_000 else 100_000)
    assert watch.usage() == expected
    assert not watch.failed


@pytest.mark.parametrize(
    ("headers", "status", "expected"),
    [
        (JSON, 200, USAGE),
        (JSON, 500, None),
        ([(b"content-type", b"text/html")], 200, None),
        ([*JSON, (b"content-encoding", b"br")], 200, None),
        ([], 200, None),
    ],
)
def test_usage_of_a_whole_answer(headers, status, expected):
    data = json.dumps({"choices": [], "usage": USAGE}).encode()
    assert watched(data, headers, status).usage() == expected


@pytest.mark.parametrize("packed", [True, False])
def test_a_packed_answer_is_read(packed):
    data = event(usage=USAGE)
    headers = [*STREAM, (b"content-encoding", b"deflate")]
    watch = watched(zlib.compress(data) if packed else data, headers)
    assert watch.usage() == (USAGE if packed else None)


@pytest.mark.parametrize(
    ("data", "headers", "failed"),
    [
        (event(error={"message": "x"}), STREAM, True),
        (event(error=None, choices=[{}]), STREAM, False),
        (event(error="x", choices=[{}]), STREAM, False),
        (b'{"error": {"message": "x"}}', JSON, True),
        (b'{"error": null}', JSON, False),
    ],
)
def test_an_error_under_a_good_status_is_seen(data, headers, failed):
    watch = watched(data, headers)
    watch.usage()
    assert watch.failed is failed


@pytest.mark.parametrize(
    ("data", "headers", "whole"),
    [
        (delta("a") + DONE, STREAM, True),
        (delta("a") + DONE[:10], STREAM, False),
        (delta("[DONE]"), STREAM, False),
        (b"{}", [*JSON, (b"content-length", b"2")], True),
        (b"{", [*JSON, (b"content-length", b"2")], False),
        (b"{}", [*JSON, (b"content-length", b"two")], False),
        (b"{}", JSON, False),
    ],
)
def test_when_a_caller_has_all_it_needs(data, headers, whole):
    assert watched(data, headers).whole is whole


def test_an_answer_too_large_to_keep_is_let_go():
    watch = watched(b"[" + b"1," * 9_000_000, JSON, size=1_000_000)
    assert watch.usage() is None


def test_labels_of_metrics_are_few_and_escaped():
    metrics = ProxyMetrics()
    metrics.count_tokens('odd"\\\n' + "x" * 500, before=1, after=1, cached=0)
    for number in range(200):
        metrics.count_tokens(f"m{number}", before=2, after=1, cached=0)
    lines = [x for x in metrics.text().splitlines() if x.startswith("eunoe_tokens_before")]
    assert len(lines) == 51
    assert 'eunoe_tokens_before_total{model="other"} 302' in lines
    assert any(
        line.startswith('eunoe_tokens_before_total{model="odd\\"\\\\\\nxx') for line in lines
    )
    assert max(map(len, lines)) < 200
    for name in ("m0", "m199"):
        metrics.count_saved(name, 1.5)
    assert [x for x in metrics.text().splitlines() if x.startswith("eunoe_seconds_saved")] == [
        'eunoe_seconds_saved_total{model="m0"} 1.5',
        'eunoe_seconds_saved_total{model="other"} 1.5',
    ]


def test_times_are_a_histogram():
    metrics = ProxyMetrics()
    for milliseconds in (0.5, 1, 3, 9_999):
        metrics.count_choosing(milliseconds)
    text = metrics.text()
    assert 'eunoe_choosing_milliseconds_bucket{le="1"} 2\n' in text
    assert 'eunoe_choosing_milliseconds_bucket{le="5"} 3\n' in text
    assert 'eunoe_choosing_milliseconds_bucket{le="5000"} 3\n' in text
    assert 'eunoe_choosing_milliseconds_bucket{le="+Inf"} 4\n' in text
    assert "eunoe_choosing_milliseconds_sum 10003.5\n" in text


@pytest.mark.property
@given(
    pieces=st.lists(
        st.binary(max_size=30)
        | st.sampled_from(
            [b"data: ", b"\n", b'{"usage":', b'{"a":1}}', b'"error"', DONE, b"[" * 99]
        )
    ),
    media=st.sampled_from([b"text/event-stream", b"application/json"]),
    encoding=st.sampled_from([b"", b"gzip", b"deflate", b"br"]),
)
def test_no_answer_makes_it_fail(pieces, media, encoding):
    watch = AnswerWatch(200, [(b"content-type", media), (b"content-encoding", encoding)])
    for piece in pieces:
        watch.feed(piece)
    assert watch.usage() is None or isinstance(watch.usage(), dict | type(None))
