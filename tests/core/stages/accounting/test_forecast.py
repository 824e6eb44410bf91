"""What a request sends and what others would have: what is known of it is put in."""

from __future__ import annotations

from eunoe.stages.accounting.forecast import PromptForecast, RequestForecast
from eunoe.stages.accounting.price import ModelPrice, TokenUse


def test_what_is_known_of_the_prefix_replaces_the_guess():
    one = PromptForecast(prompt=100, repeated=50)
    forecast = RequestForecast(sent=one, untouched=one, window=one)
    assert forecast.with_repeated(None) is forecast
    assert forecast.with_repeated(70).sent.repeated == 70
    assert forecast.with_repeated(700).sent.repeated == 100
    assert forecast.with_repeated(-7).sent.repeated == 0


def test_what_the_owner_changes_is_read_anew_by_the_other_ways_too():
    one = PromptForecast(prompt=100, repeated=50)
    forecast = RequestForecast(sent=one, untouched=one, window=one)
    assert forecast.with_unchanged(None) is forecast
    assert forecast.with_unchanged(70) == forecast
    changed = forecast.with_unchanged(20)
    assert (changed.sent, changed.untouched.repeated, changed.window.repeated) == (one, 20, 20)
    assert forecast.with_unchanged(-7).untouched.repeated == 0


def test_use():
    forecast = PromptForecast(prompt=4000, repeated=3000)
    plain = ModelPrice(input=2, cached=0.5, output=8, cache_from=1024)
    claude = ModelPrice(input=3, cached=0.3, write=3.75, output=15, cache_from=1024)
    assert forecast.use(None) == TokenUse(prompt=4000, cached=3000)
    assert forecast.use(plain) == TokenUse(prompt=4000, cached=3000)
    assert forecast.use(claude) == TokenUse(prompt=4000, cached=3000, written=1000)
    assert forecast.use(claude, caching=False) == TokenUse(prompt=4000)
    assert forecast.use(plain, scale=1.1) == TokenUse(prompt=4400, cached=3300)
    small = PromptForecast(prompt=1500, repeated=1000)
    assert small.use(claude) == TokenUse(prompt=1500, written=1500)
    assert PromptForecast(prompt=900, repeated=800).use(claude) == TokenUse(prompt=900)


def test_plain_form():
    one, two = PromptForecast(prompt=100, repeated=50), PromptForecast(prompt=7, repeated=0)
    forecast = RequestForecast(sent=one, untouched=two, window=one, untouched_fits=False)
    assert RequestForecast.from_json(forecast.to_json()) == forecast
    for odd in (None, 3, [], [1] * 6, [1] * 6 + ["1"], [-1] * 7, [True] * 7, {}):
        assert RequestForecast.from_json(odd) is None


def test_a_chat_that_lacks_what_was_left_out_before():
    one = PromptForecast(prompt=100, repeated=50)
    forecast = RequestForecast(sent=one, untouched=one, window=one)
    assert forecast.with_left_out(30).untouched == PromptForecast(prompt=130, repeated=80)
    assert forecast.with_left_out(30).sent == one
    first = RequestForecast(sent=one, untouched=PromptForecast(prompt=9, repeated=0), window=one)
    assert first.with_left_out(30).untouched == PromptForecast(prompt=39, repeated=0)


def test_more_in_the_newest_message():
    one, new = PromptForecast(prompt=100, repeated=50), PromptForecast(prompt=9, repeated=0)
    forecast = RequestForecast(sent=one, untouched=one, window=new)
    at_first = forecast.with_more_tokens(30, again=False)
    assert at_first.sent == at_first.untouched == PromptForecast(prompt=130, repeated=50)
    later = forecast.with_more_tokens(30, again=True)
    assert later.sent == PromptForecast(prompt=130, repeated=50)
    assert later.untouched == PromptForecast(prompt=130, repeated=80)
    assert later.window == PromptForecast(prompt=39, repeated=0)


def test_a_list_that_another_counter_has_smaller_or_larger():
    one = PromptForecast(prompt=100, repeated=50)
    forecast = RequestForecast(sent=one, untouched=one, window=one)
    assert forecast.with_sent(40).sent == PromptForecast(prompt=40, repeated=40)
    assert forecast.with_sent(400).sent == PromptForecast(prompt=400, repeated=50)
    assert forecast.with_sent(40).window == forecast.with_sent(-1).untouched == one
    assert forecast.with_sent(100) == forecast
