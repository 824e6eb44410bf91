"""Short pieces of text for a status line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eunoe.stages.accounting.entry import account_requests
from eunoe.stages.accounting.forecast import PromptForecast, RequestForecast
from eunoe.stages.accounting.ledger import Account, Ledger, Tally
from eunoe.stages.accounting.price import PICODOLLARS, ModelPrice, TokenUse
from eunoe.stages.accounting.status_text import (
    accounting_line,
    cache_piece,
    recalled_piece,
    saved_piece,
    seconds_piece,
    sent_piece,
    token_text,
)

FORECAST = RequestForecast(
    sent=PromptForecast(prompt=7900, repeated=6100),
    untouched=PromptForecast(prompt=41_000, repeated=39_500),
    window=PromptForecast(prompt=7900, repeated=0),
)
PRICE = ModelPrice(input=2.5, cached=0.25, output=10)


def test_the_line():
    reported = TokenUse(prompt=7900, cached=6100, completion=200)
    ledger = account_requests([FORECAST], PRICE, reported=reported)
    line = accounting_line(ledger, allowed=8000, recalled=3)
    assert line == "sent 7.9k of 8k · 6.1k from cache · 3 recalled · saved ≈$0.0076"
    line = accounting_line(account_requests([FORECAST], PRICE), allowed=8000)
    assert line == "sent ≈7.9k of 8k · ≈6.1k from cache · saved ≈$0.0076"


def test_without_a_price_there_is_no_money():
    ledger = account_requests([FORECAST], None)
    assert accounting_line(ledger) == "sent ≈7.9k · ≈6.1k from cache"


def test_what_cost_more_is_said():
    account = Account(
        sent=Tally(requests=1, cost=PICODOLLARS // 100), untouched=Tally(requests=1, cost=0)
    )
    assert saved_piece(Ledger(measured=account)) == "≈$0.010 dearer"


def test_the_saving_of_a_chat_is_that_so_far():
    entry = account_requests([FORECAST], PRICE)
    chat = Ledger.merge([entry] * 100)
    line = accounting_line(entry, allowed=8000, chat=chat)
    assert line == "sent ≈7.9k of 8k · ≈6.1k from cache · saved ≈$0.760 so far"
    unpriced = account_requests([FORECAST], None)
    assert accounting_line(unpriced, chat=unpriced) == "sent ≈7.9k · ≈6.1k from cache"


def test_several_requests_have_no_limit_in_the_line():
    ledger = account_requests([FORECAST] * 2, PRICE)
    assert sent_piece(ledger, allowed=8000) == "sent ≈15.8k"


def test_nothing_says_nothing():
    assert accounting_line(Ledger()) == ""
    assert recalled_piece(0) == recalled_piece(-1) == ""
    assert cache_piece(Ledger()) == saved_piece(Ledger()) == ""


@pytest.mark.parametrize(
    ("tokens", "text"),
    [(0, "0"), (950, "950"), (7912, "7.9k"), (8000, "8k"), (128_000, "128k"), (1_234_567, "1.2M")],
)
def test_tokens(tokens: int, text: str):
    assert token_text(tokens) == text


@given(st.integers(0, 10**12))
def test_numbers_stay_short(tokens: int):
    assert len(token_text(tokens)) <= 8


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, ""), (0.49, ""), (0.5, "saved ≈0.5 s"), (12.4, "saved ≈12 s"), (300, "saved ≈5 min")],
)
def test_seconds(seconds: float, text: str):
    assert seconds_piece(seconds) == text


def test_a_cache_that_gave_less_than_it_owed_is_told_with_both_numbers():
    reported = TokenUse(prompt=7900, cached=0)
    ledger = account_requests([FORECAST], None, reported=reported)
    assert accounting_line(ledger) == "sent 7.9k"
    line = accounting_line(ledger, expected=6100, seconds=3)
    assert line == "sent 7.9k · 0 of ≈6.1k from cache · saved ≈3.0 s"
