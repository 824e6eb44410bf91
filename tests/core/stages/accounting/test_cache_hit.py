"""How well the cache does."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from eunoe.stages.accounting.cache_hit import CacheHit, CacheRecord, measure_cache
from eunoe.stages.accounting.price import TokenUse


def test_what_was_expected_is_turned_into_the_providers_tokens():
    reported = TokenUse(prompt=11_000, cached=8_000)
    hit = measure_cache(reported, repeated=9_000, counted=10_000)
    assert hit == CacheHit(expected=9_900, hit=8_000, prompt=11_000)
    assert round(hit.share, 3) == 0.727
    assert not hit.missed


def test_a_miss():
    assert measure_cache(TokenUse(prompt=5000), repeated=4000, counted=5000).missed
    assert not measure_cache(TokenUse(prompt=900), repeated=800, counted=900).missed
    assert measure_cache(TokenUse(), repeated=10, counted=0).share == 0


def test_the_median_of_the_newest():
    record = CacheRecord()
    assert record.share == 1.0
    for cached in (4000, 3600, 0, 3800, 4000):
        reported = TokenUse(prompt=5000, cached=cached)
        record = record.learn(measure_cache(reported, repeated=4000, counted=5000))
    assert record.share == 0.95


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 10**6))
def test_shares_stay_in_range(prompt: int, cached: int, repeated: int, counted: int):
    hit = measure_cache(TokenUse.of(prompt, cached), repeated=repeated, counted=counted)
    assert 0 <= hit.share <= 1
    assert 0 <= hit.expected <= max(prompt, 0)
    record = CacheRecord().learn(hit)
    assert 0 <= record.share <= 1
    assert len(record.shares) <= 1
