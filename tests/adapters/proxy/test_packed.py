"""Bodies that callers compress."""

from __future__ import annotations

import gzip
import json
import zlib

import pytest

from eunoe_proxy.packed import unpacked
from proxied import talk

CHAT = "/v1/chat/completions"
BODY = b'{"messages":[{"role":"user","content":"Hi"}]}'


@pytest.mark.parametrize(
    ("data", "encoding", "expected"),
    [
        pytest.param(BODY, "", BODY, id="none"),
        pytest.param(BODY, " Identity", BODY, id="identity"),
        pytest.param(gzip.compress(BODY), "GZIP ", BODY, id="gzip"),
        pytest.param(gzip.compress(BODY), "x-gzip", BODY, id="its old name"),
        pytest.param(zlib.compress(BODY), "deflate", BODY, id="deflate"),
        pytest.param(BODY, "br", None, id="another"),
        pytest.param(gzip.compress(BODY), "gzip, gzip", None, id="twice"),
        pytest.param(BODY, "gzip", None, id="not packed"),
        pytest.param(gzip.compress(BODY)[:-9], "gzip", None, id="broken off"),
        pytest.param(gzip.compress(BODY) + b"more", "gzip", None, id="more behind it"),
        pytest.param(gzip.compress(b"x" * 100), "gzip", b"x" * 100, id="as large as allowed"),
        pytest.param(gzip.compress(b"x" * 101), "gzip", None, id="larger"),
        pytest.param(gzip.compress(b"x" * 10_000_000), "gzip", None, id="very much larger"),
    ],
)
def test_what_was_compressed(data, encoding, expected):
    assert unpacked(data, encoding, 100) == expected


@pytest.mark.parametrize(
    ("encoding", "pack"), [("gzip", gzip.compress), ("deflate", zlib.compress)]
)
def test_a_packed_chat_is_fitted_and_goes_on_unpacked(upstream, proxy, encoding, pack):
    running = proxy(max_tokens=1000)
    body = {"model": "gpt-4o", "messages": talk(40)}
    plain = running.ask(**{k: v for k, v in body.items() if k != "model"})
    packed = running.client.post(
        CHAT,
        content=pack(json.dumps(body).encode()),
        headers={"content-type": "application/json", "content-encoding": encoding},
    )
    assert packed.headers["x-eunoe-outcome"] == "fitted"
    assert packed.headers["x-eunoe-tokens-after"] == plain.headers["x-eunoe-tokens-after"]
    assert upstream.asked[1][2]["messages"] == upstream.asked[0][2]["messages"]
    assert "content-encoding" not in {name.lower() for name in upstream.asked[1][1]}


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_a_packed_body_that_stays_the_same_stays_packed(upstream, proxy, encoding):
    running = proxy(max_tokens=1000)
    packed = gzip.compress(BODY)
    running.client.post(CHAT, content=packed, headers={"content-encoding": encoding})
    assert upstream.raw == [packed]
    assert upstream.asked[0][1]["content-encoding"] == encoding
