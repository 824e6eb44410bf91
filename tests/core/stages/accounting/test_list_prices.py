"""The prices that come with the package."""

from __future__ import annotations

import re

import pytest

from eunoe.stages.accounting.list_prices import LIST_PRICES_DATE, list_prices


def test_they_are_dated_and_many():
    assert re.fullmatch(r"20\d\d-\d\d-\d\d", LIST_PRICES_DATE)
    assert LIST_PRICES_DATE in list_prices().source
    assert len(list_prices()) >= 60
    assert list_prices() is list_prices()


def test_each_is_plausible():
    for name, price in list_prices().entries.items():
        assert 0 < price.input <= price.output, name
        assert price.cached is None or 0 < price.cached <= price.input, name
        assert price.write is None or price.input <= price.write <= 2 * price.input, name
        assert name == name.lower(), name


def test_each_is_found_under_its_own_name():
    table = list_prices()
    for name, price in table.entries.items():
        assert table.get(name) == price
        assert table.get(f"openrouter/some/{name}") == price


@pytest.mark.parametrize(
    ("name", "prices"),
    [
        ("gpt-4o", (2.5, 1.25, None, 10)),
        ("gpt-4o-2024-11-20", (2.5, 1.25, None, 10)),
        ("gpt-4.1", (2, 0.5, None, 8)),
        ("gpt-4", (30, None, None, 60)),
        ("openrouter/anthropic/claude-sonnet-4.5", (3, 0.3, 3.75, 15)),
        ("us.anthropic.claude-haiku-4-5-20251001-v1:0", (1, 0.1, 1.25, 5)),
        ("models/gemini-2.5-flash", (0.3, 0.03, None, 2.5)),
        ("gemini-3-flash-preview", (0.5, 0.05, None, 3)),
    ],
)
def test_some_by_name(name: str, prices: tuple[float | None, ...]):
    price = list_prices().get(name)
    assert (price.input, price.cached, price.write, price.output) == prices


@pytest.mark.parametrize(
    "name",
    [
        "gpt-4o-audio-preview",
        "gpt-4-32k",
        "gpt-oss-120b",
        "llama3.3:70b",
        "mistral-large-2407",
        "x",
    ],
)
def test_others_are_not_guessed(name: str):
    assert list_prices().get(name) is None


def test_long_prompts():
    assert list_prices().get("gemini-2.5-pro").long_from == 200_000
    assert list_prices().get("gpt-5.4").long_from == 272_000
    assert list_prices().get("gpt-5.4-mini").long_from == 0
    assert list_prices().get("claude-sonnet-4-6").long_from == 0
