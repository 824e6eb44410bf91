from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies
from pydantic_core import PydanticUndefined

from eunoe_openwebui.valves import (
    FILTER_PRESETS,
    FilterUserValves,
    FilterValves,
    resolve_valves,
)

JUNK = strategies.one_of(
    strategies.none(),
    strategies.booleans(),
    strategies.integers(),
    strategies.floats(allow_nan=True),
    strategies.text(max_size=8),
    strategies.sampled_from(["", "junk", "1e999", "nan", "-5", "７", "9" * 5000, "inf"]),
    strategies.lists(strategies.integers(), max_size=2),
    strategies.dictionaries(strategies.text(max_size=3), strategies.integers(), max_size=2),
)


@pytest.mark.property
@given(strategies.dictionaries(strategies.sampled_from(sorted(FilterValves.model_fields)), JUNK))
def test_whatever_is_stored_gives_usable_valves(stored: dict[str, Any]) -> None:
    valves = FilterValves(**stored)
    for name, field in FilterValves.model_fields.items():
        value = getattr(valves, name)
        assert type(value) is type(field.default), name
        for bound in field.metadata:
            assert value >= getattr(bound, "ge", value), name
            assert value <= getattr(bound, "le", value), name


@pytest.mark.parametrize(
    ("name", "stored", "used"),
    [
        ("max_tokens", "7000", 7000),
        ("max_tokens", 7000.9, 7000),
        ("max_tokens", "-1", 0),
        ("max_tokens", "", 0),
        ("max_tokens", None, 0),
        ("max_tokens", "many", 0),
        ("default_window", 1, 256),
        ("policy", "RELEVANCE ", "relevance"),
        ("policy", "fastest", "preset"),
        ("show_status", "false", False),
        ("show_status", 0, False),
        ("show_status", "perhaps", True),
        ("tool_penalty", "2", 1.0),
        ("tool_penalty", float("nan"), 1.0),
        ("locked_flags", "", "none"),
        ("model_overrides", {"a": {}}, '{"a": {}}'),
        ("deadline_seconds", "1e999", 120.0),
    ],
)
def test_one_stored_value(name: str, stored: Any, used: Any) -> None:
    assert getattr(FilterValves(**{name: stored}), name) == used


@pytest.mark.parametrize("model", [FilterValves, FilterUserValves])
def test_every_field_explains_itself_and_can_be_saved_from_the_page(model: Any) -> None:
    for name, field in model.model_fields.items():
        assert field.title, name
        assert field.description, name
        assert field.default is not PydanticUndefined, name
        assert field.default is not None, name
        assert field.default != "", name  # the page refuses to save an empty text
    assert model().model_dump() == model(**dict.fromkeys(model.model_fields)).model_dump()


def test_a_preset_fills_what_is_left_to_it() -> None:
    valves = resolve_valves(FilterValves(preset="saver", cut_to_percent=55), "gpt-4o")
    saver = FILTER_PRESETS["saver"]
    assert (valves.context_percent, valves.policy) == (saver.context_percent, saver.policy)
    assert valves.cut_to_percent == 55


@pytest.mark.parametrize(
    ("overrides", "model", "expected"),
    [
        ('{"llama*": {"max_tokens": "6000"}}', "Llama3:8b", 6000),
        ('{"llama*": {"max_tokens": 6000}}', "gpt-4o", 100),
        ('{"*": {"max_tokens": -3, "unknown": 1}}', "gpt-4o", 0),
        ('{"*": 7}', "gpt-4o", 100),
        ("[1]", "gpt-4o", 100),
        ("{not json", "gpt-4o", 100),
        ("[" * 100_000, "gpt-4o", 100),
    ],
)
def test_overrides_by_model(overrides: str, model: str, expected: int) -> None:
    valves = resolve_valves(FilterValves(max_tokens=100, model_overrides=overrides), model)
    assert valves.max_tokens == expected
