"""Entering requests: reported figures as reported, the rest as an estimate of the same turns."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eunoe.stages.accounting.entry import account_requests
from eunoe.stages.accounting.forecast import PromptForecast, RequestForecast
from eunoe.stages.accounting.ledger import Ledger, Tally
from eunoe.stages.accounting.price import ModelPrice, TokenUse

PRICE = ModelPrice(input=2, cached=0.2, output=10)
CLAUDE = ModelPrice(input=3, cached=0.3, write=3.75, output=15)
FORECAST = RequestForecast(
    sent=PromptForecast(prompt=8000, repeated=6000),
    untouched=PromptForecast(prompt=40_000, repeated=39_000),
    window=PromptForecast(prompt=8000, repeated=500),
    untouched_fits=False,
)


def micro(tally: Tally) -> float:
    """Millionths of a dollar."""
    return tally.cost / 10**6


def test_without_a_report_all_is_estimated():
    ledger = account_requests([FORECAST], PRICE)
    assert ledger.measured.sent == Tally()
    account = ledger.estimated
    assert (account.sent.prompt, account.sent.cached, account.sent.completion) == (8000, 6000, 0)
    assert micro(account.sent) == 2000 * 2 + 6000 * 0.2
    assert micro(account.untouched) == 1000 * 2 + 39_000 * 0.2
    assert micro(account.window) == 7500 * 2 + 500 * 0.2
    assert account.untouched_over == 1
    assert ledger.saved_usd == pytest.approx((9800 - 5200) / 1e6)


def test_with_a_report_the_report_counts_and_the_rest_is_scaled():
    reported = TokenUse(prompt=8800, cached=4400, completion=100)
    ledger = account_requests([FORECAST], PRICE, reported=reported)
    assert ledger.estimated.sent == Tally()
    account = ledger.measured
    assert (account.sent.prompt, account.sent.cached) == (8800, 4400)
    assert micro(account.sent) == 4400 * 2 + 4400 * 0.2 + 1000
    assert (account.untouched.prompt, account.untouched.cached) == (44_000, 42_900)
    assert account.untouched.completion == account.window.completion == 100
    assert micro(account.untouched) == 1100 * 2 + 42_900 * 0.2 + 1000


@pytest.mark.parametrize("reported", [None, TokenUse(prompt=8800, cached=2000, completion=100)])
def test_a_chat_that_goes_out_whole_costs_what_an_untouched_one_costs(reported):
    sent = PromptForecast(prompt=8000, repeated=1000)
    others = PromptForecast(prompt=8000, repeated=7000)
    forecast = RequestForecast(sent=sent, untouched=others, window=others)
    ledger = account_requests([forecast], PRICE, reported=reported)
    assert ledger.total.sent == ledger.total.untouched == ledger.total.window
    assert ledger.saved_usd == 0


def test_a_report_that_is_not_about_this_prompt_scales_nothing():
    ledger = account_requests([FORECAST], PRICE, reported=TokenUse(prompt=100))
    assert ledger.measured.untouched.prompt == 40_000
    assert ledger.measured.sent.prompt == 100


def test_a_chat_that_is_not_cached_is_not_compared_with_a_cached_one():
    reported = TokenUse(prompt=8000)
    account = account_requests([FORECAST], CLAUDE, reported=reported).measured
    assert account.untouched.cached == account.untouched.written == 0
    reported = TokenUse(prompt=8000, cached=6000, written=2000)
    account = account_requests([FORECAST], CLAUDE, reported=reported).measured
    assert (account.untouched.cached, account.untouched.written) == (39_000, 1000)
    # where writing is free, a miss says nothing about caching: it may have been a cut
    account = account_requests([FORECAST], PRICE, reported=TokenUse(prompt=8000)).measured
    assert account.untouched.cached == 39_000


def test_a_cache_that_forgets_is_expected_to_forget_in_every_way():
    account = account_requests([FORECAST], PRICE, hit_share=0.5).estimated
    assert [t.cached for t in (account.sent, account.untouched, account.window)] == [
        3000,
        19_500,
        250,
    ]
    reported = TokenUse(prompt=8000, cached=2500)
    account = account_requests([FORECAST], PRICE, reported=reported, hit_share=0.5).measured
    assert [t.cached for t in (account.sent, account.untouched)] == [2500, 19_500]


def test_without_a_price_there_are_tokens_only():
    ledger = account_requests([FORECAST], None, reported=TokenUse(prompt=8000))
    assert ledger.total.sent.cost == ledger.total.untouched.cost == 0
    assert ledger.total.sent.unpriced == 1
    assert ledger.saved_usd == 0


def test_the_calls_of_a_turn_with_one_summed_report():
    reported = TokenUse(prompt=24_001, cached=17_001, completion=71)
    account = account_requests([FORECAST] * 3, PRICE, reported=reported).measured
    assert account.sent.requests == account.untouched.requests == 3
    assert (account.sent.prompt, account.sent.cached, account.sent.completion) == (
        24_001,
        17_001,
        71,
    )
    assert account.untouched.completion == 71
    assert account.untouched.prompt == pytest.approx(120_000, abs=10)


def test_a_summed_report_is_not_taken_for_a_long_prompt():
    price = ModelPrice(input=1, output=1, long_from=10_000)
    account = account_requests([FORECAST] * 3, price, reported=TokenUse(prompt=24_000)).measured
    assert micro(account.sent) == 24_000


def test_no_requests():
    assert account_requests([], PRICE, reported=TokenUse(prompt=5)) == Ledger()


sizes = st.integers(0, 10**6)
forecasts = st.builds(
    RequestForecast,
    sent=st.builds(PromptForecast, prompt=sizes, repeated=sizes),
    untouched=st.builds(PromptForecast, prompt=sizes, repeated=sizes),
    window=st.builds(PromptForecast, prompt=sizes, repeated=sizes),
    untouched_fits=st.booleans(),
)
reports = st.builds(TokenUse.of, sizes, sizes, sizes, sizes)
money = st.floats(0, 100)
prices = st.none() | st.builds(
    ModelPrice,
    input=money,
    output=money,
    cached=st.none() | money,
    write=st.none() | money,
    long_from=st.sampled_from([0, 200_000]),
    cache_from=st.sampled_from([0, 1024]),
)


@given(st.lists(forecasts, max_size=5), prices, st.none() | reports)
def test_laws(requests, price, reported):
    ledger = account_requests(requests, price, reported=reported)
    total = ledger.total
    for tally in (total.sent, total.untouched, total.window):
        assert tally.requests == len(requests)
        assert tally.cost >= 0
        assert 0 <= tally.cached + tally.written <= tally.prompt
        assert tally.unpriced == (len(requests) if price is None else 0)
    assert ledger.measured == type(total)() or ledger.estimated == type(total)()
    if reported is not None and requests:
        sent = ledger.measured.sent
        assert (sent.prompt, sent.cached, sent.written, sent.completion) == (
            reported.prompt,
            reported.cached,
            reported.written,
            reported.completion,
        )
        assert total.untouched.completion == reported.completion


@given(st.lists(forecasts, max_size=4), prices)
def test_estimates_of_a_turn_are_those_of_its_requests(requests, price):
    one_by_one = Ledger.merge([account_requests([f], price) for f in requests])
    assert account_requests(requests, price) == one_by_one
