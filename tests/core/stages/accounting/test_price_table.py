"""Looking up prices: the most specific name wins, and nothing is made up."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eunoe import SettingsError
from eunoe.stages.accounting.price import ModelPrice
from eunoe.stages.accounting.price_table import FREE_MODEL_PRICE, ModelPricingTable


def priced(value: float) -> ModelPrice:
    return ModelPrice(input=value, output=value)


TABLE = ModelPricingTable(
    {
        "gpt-4": priced(30),
        "gpt-4*": priced(31),
        "gpt-4o*": priced(2),
        "gpt-4o-mini*": priced(0.2),
        "gpt-*": priced(9),
        "gpt-4o-2024-05-13": priced(5),
        "openrouter/openai/gpt-4o": priced(2.1),
    },
    {"house model": "gpt-4o-mini", "fast": "openai/gpt-4"},
)


@pytest.mark.parametrize(
    ("name", "input_price"),
    [
        ("gpt-4", 30),
        ("openai/gpt-4", 30),
        ("gpt-4-turbo", 31),
        ("gpt-4.1", 9),
        ("gpt-4o", 2),
        ("gpt-4o-2024-08-06", 2),
        ("gpt-4o-2024-05-13", 5),
        ("gpt-4o-mini-2024-07-18", 0.2),
        ("openrouter/openai/gpt-4o", 2.1),
        ("House Model", 0.2),
        ("fast", 30),
        ("mine.gpt-4", 30),
    ],
)
def test_the_most_specific_wins(name: str, input_price: float):
    price = TABLE.get(name)
    assert price is not None
    assert price.input == input_price


@pytest.mark.parametrize("name", [None, "", "  ", "o3", "llama3.2", "ollama/gpt-4", "ft:gpt-4:a"])
def test_an_unknown_model_has_no_price(name: str | None):
    assert TABLE.get(name) is None


def test_the_free_variant_of_a_known_model_is_free():
    assert TABLE.get("openrouter/openai/gpt-4:free") == FREE_MODEL_PRICE
    assert TABLE.get("someone/else:free") is None


def test_the_other_table_wins_when_laid_over():
    merged = TABLE.merged(ModelPricingTable({"gpt-4": priced(1)}, {"fast": "gpt-4o"}, "mine"))
    assert merged.get("gpt-4").input == 1
    assert merged.get("fast").input == 2
    assert merged.get("gpt-4-turbo").input == 31
    assert merged.source == "mine"
    assert TABLE.get("gpt-4").input == 30


def test_aliases_can_be_added():
    table = TABLE.with_aliases({"Chef": "gpt-4"})
    assert table.get("chef").input == 30
    assert table.get("chef") == table.get("openrouter/chef")


def test_an_alias_laid_over_a_price_wins():
    table = TABLE.merged(ModelPricingTable({"openai/gpt-4": priced(1)}, {"gpt-4": "openai/gpt-4"}))
    assert table.get("gpt-4").input == table.get("openai/gpt-4").input == 1


def test_an_alias_may_name_another_but_not_itself_nor_nothing():
    names = {"a": "b", "b": "m", "c": "nothing", "d": "d", "e": "f", "f": "e"}
    table = ModelPricingTable({"m": priced(1)}, names)
    assert table.get("a").input == table.get("b").input == 1
    assert table.get("e") is None
    assert table.get("c") is None
    assert table.get("d") is None


@pytest.mark.parametrize(
    "data",
    [
        {"models": {"M": {"input": 1, "cached": 0.1, "output": 2}}, "aliases": {"x": "m"}},
        {"M": {"input": 1, "cached": 0.1, "output": 2}},
        [{"model_id": "m", "input": 1, "cached": 0.1, "output": 2}],
        [
            {
                "model_id": "m",
                "input_price_per_1m": 1,
                "cached_price_per_1m": 0.1,
                "output_price_per_1m": 2,
            }
        ],
    ],
)
def test_the_forms_of_an_own_table(data: object):
    assert ModelPricingTable.from_dict(data).get("m") == ModelPrice(input=1, cached=0.1, output=2)


@pytest.mark.parametrize(
    "data",
    [
        None,
        3,
        "text",
        {"m": 3},
        {"m": {}},
        {"m": {"input": 1}},
        {"m": {"input": "1", "output": 2}},
        {"m": {"input": -1, "output": 2}},
        {"m": {"input": 1, "output": 2, "inptu": 3}},
        [{"input": 1, "output": 2}],
        [3],
        {"": {"input": 1, "output": 2}},
        {"models": {}, "aliases": 3},
        {"models": {}, "aliases": {"a": 3}},
    ],
)
def test_what_is_no_table_is_refused(data: object):
    with pytest.raises(SettingsError):
        ModelPricingTable.from_dict(data)


@given(st.text(max_size=40))
def test_any_name_may_be_asked_for(name: str):
    assert ModelPricingTable.empty().get(name) is None
    TABLE.get(name)
