from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, strategies
from pydantic_core import PydanticUndefined

from eunoe.domain.settings import POLICY_NAMES, Settings
from eunoe_openwebui.fit import settings_of
from eunoe_openwebui.presets import FILTER_PRESETS, resolve_valves
from eunoe_openwebui.valves import FilterUserValves, FilterValves

JUNK = strategies.one_of(
    strategies.none(),
    strategies.booleans(),
    strategies.integers(),
    strategies.floats(allow_nan=True),
    strategies.text(max_size=8),
    strategies.sampled_from(
        ["", "k", "%", "infk", "9,000", "junk", "1e999", "nan", "-5", "７", "9" * 5000, "inf"]
    ),
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
        ("max_tokens", "8k", 8_000),
        ("max_tokens", " 1.5 K ", 1_500),
        ("max_tokens", "1m", 1_000_000),
        ("max_tokens", "k", 0),
        ("max_tokens", "8,000", 8_000),
        ("max_tokens", "1.048.576", 1_048_576),
        ("max_tokens", "12'000", 12_000),
        ("max_tokens", "12\u202f000", 12_000),
        ("max_tokens", "8,000.000", 0),
        ("max_tokens", "0.500", 0),
        ("max_tokens", 8.125, 8),
        ("max_tokens", "8000 tokens", 8_000),
        ("max_tokens", "128k tokens", 128_000),
        ("max_tokens", "~ 8,000 Tokens", 8_000),
        ("max_tokens", "tokens", 0),
        ("context_percent", "70%", 70),
        ("context_percent", "70 %", 70),
        ("context_percent", "70 percent", 70),
        ("context_percent", "0.7", 70),
        ("context_percent", "0,7", 70),
        ("context_percent", 0.29, 29),
        ("context_percent", "1", 1),
        ("recall_percent", "0", 0),
        ("deadline_seconds", "5 s", 5.0),
        ("deadline_seconds", "2,5 seconds", 2.5),
        ("tool_penalty", "0,5", 0.5),
        ("tool_penalty", "50 %", 0.5),
        ("tool_penalty", "0,1,2", 1.0),
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
        masked = "password" in str(field.json_schema_extra)
        # The page refuses to save an empty text; of a masked one nobody sees what stands in it.
        assert (field.default == "") is masked, name
    assert model().model_dump() == model(**dict.fromkeys(model.model_fields)).model_dump()


def test_the_page_tells_the_defaults() -> None:
    told = FilterValves.model_json_schema()["properties"]
    ends = {name: field["description"].rpartition(" Default: ")[2] for name, field in told.items()}
    assert ends["preset"] == "**balanced**."
    assert ends["read_flags"] == "**on**."
    assert ends["show_sources"] == "**off**."
    assert ends["default_window"] == "**8,192**."
    assert ends["recall_floor"] == "**0.005**."
    for name in ("max_tokens", "policy", "locked_flags", "own_prices", "redis_url"):
        assert "Default" not in told[name]["description"]  # it says what 0 or "none" means


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
        ("{'gpt*': {'max_tokens': 6000,},}", "gpt-4o", 6000),
        ("{“gpt*”: {“max_tokens”: 6000}}", "gpt-4o", 6000),
        ('{"gpt*": {"Max tokens": "6k"}}', "gpt-4o", 6000),
        ('{"gpt*": {"max-Tokens": 6000, "Share of the context window (%)": 50}}', "gpt-4o", 6000),
        ("{1: {2: 3}}", "gpt-4o", 100),
        ("[1]", "gpt-4o", 100),
        ("{not json", "gpt-4o", 100),
        ("[" * 100_000, "gpt-4o", 100),
    ],
)
def test_overrides_by_model(overrides: str, model: str, expected: int) -> None:
    valves = resolve_valves(FilterValves(max_tokens=100, model_overrides=overrides), model)
    assert valves.max_tokens == expected


@pytest.mark.parametrize(
    ("stored", "told"),
    [
        ({"model_overrides": '"gpt*": {"max_tokens": 6000}'}, "is not used"),
        ({"model_overrides": '{"gpt*": 6000}'}, "is not used"),
        (
            {"model_overrides": '{"gpt*": {"max_tokenz": 6000}}'},
            '"max_tokenz", which is no setting',
        ),
        ({"own_prices": "gpt-4o costs 2.5"}, "is not used"),
        ({"own_prices": '{"gpt-4o": {"input": "much"}}'}, "is not used"),
        ({"own_prices": "{1j: {2j}}"}, "is not used"),
        ({"own_prices": '[{"model_id": "a", "input": 1, "output": 2}]'}, ""),
        ({"model_overrides": '{"gpt*": {"Max tokens": 600}}'}, ""),
        ({}, ""),
    ],
)
def test_a_table_that_cannot_be_used_is_told_once(
    plugin: Any, stored: dict[str, Any], told: str
) -> None:
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Hello?"}]}
    plugin.call("request", body, valves=stored)
    assert ("setting" in plugin.status) is bool(told)
    assert told in plugin.status
    plugin.call("request", body, valves=stored)
    assert "setting" not in plugin.status


def test_all_flags_can_be_locked_in_one_word(plugin: Any) -> None:
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": "!why Hello?"}]}
    plugin.call("request", body, valves={"locked_flags": "all"})
    assert "!why is locked" in plugin.status
    assert [event["type"] for event in plugin.events] == ["status"]


def office_chat() -> list[dict[str, Any]]:
    """A long chat of small subjects with a fact near its beginning, and a question about it."""
    messages = [{"role": "user", "content": "Our PostgreSQL database has port 54329 on atlas."}]
    messages.append({"role": "assistant", "content": "Noted: atlas, port 54329."})
    for number in range(150):
        subject = ("summer party", "coffee machine", "fire drill", "trade fair")[number % 4]
        draft = f"A draft about the {subject} of week {number}: who comes, when, what to bring. "
        messages.append({"role": "user", "content": f"Draft a note: {subject}, week {number}."})
        messages.append({"role": "assistant", "content": draft * 4})
    return [*messages, {"role": "user", "content": "Which port has our PostgreSQL database?"}]


def sent_by(plugin: Any, question: str, **valves: Any) -> tuple[list[dict[str, Any]], int]:
    """What is sent of the chat for a question, and how many tokens it has."""
    chat = [*office_chat()[:-1], {"role": "user", "content": question}]
    metadata: dict[str, Any] = {"chat_id": ""}
    body = {"model": "own", "messages": chat}
    model = {"id": "own", "max_model_len": 4000}
    given = {"__metadata__": metadata, "__model__": model}
    sent = plugin.call("request", body, valves=valves, **given)["messages"]
    return sent, metadata["eunoe"]["counted"]


FACT_QUESTION = "Which port has our PostgreSQL database?"
OTHER_QUESTION = "Thanks, go on."


@pytest.mark.parametrize(
    ("preset", "share", "recalls"),
    [("balanced", 85, True), ("saver", 50, True), ("thorough", 90, True), ("window", 85, False)],
)
def test_a_preset_does_what_it_says(plugin: Any, preset: str, share: int, recalls: bool) -> None:
    sent, tokens = sent_by(plugin, FACT_QUESTION, preset=preset)
    assert ("54329" in str(sent)) is recalls
    assert tokens <= 4000 * share // 100
    _, plain = sent_by(plugin, OTHER_QUESTION, preset=preset)
    assert 4000 * share // 100 * 0.25 < plain <= 4000 * share // 100
    assert f"of {4 * share / 100:g}k" in plugin.status


@pytest.mark.parametrize("policy", POLICY_NAMES)
def test_every_way_of_choosing_can_be_set(plugin: Any, policy: str) -> None:
    sent, tokens = sent_by(plugin, FACT_QUESTION, policy=policy)
    assert plugin.instance.valves.policy == policy
    assert sent[-1]["content"].endswith(FACT_QUESTION)
    assert (tokens <= 3400) is (policy != "off")


def test_the_saver_sends_less(plugin: Any) -> None:
    sizes = [sent_by(plugin, OTHER_QUESTION, preset=name)[1] for name in ("saver", "balanced")]
    assert sizes[0] < sizes[1]


@pytest.mark.parametrize("preset", ["balanced", "saver", "window"])
def test_what_a_preset_keeps_begins_alike_in_two_requests(plugin: Any, preset: str) -> None:
    first, _ = sent_by(plugin, OTHER_QUESTION, preset=preset)
    again, _ = sent_by(plugin, "And what else?", preset=preset)
    assert first[:-1] == again[:-1]


def test_only_the_thorough_one_recalls_for_every_question(plugin: Any) -> None:
    def old(preset: str) -> bool:
        sent, _ = sent_by(plugin, "The fire drill of week 3?", preset=preset)
        return "week 3:" in str(sent)

    assert old("thorough")
    assert not old("window")


def test_the_marks_and_the_shares_reach_the_settings() -> None:
    for name, preset in FILTER_PRESETS.items():
        settings = settings_of(resolve_valves(FilterValves(preset=name), "own"))
        assert settings.policy == preset.policy
        assert settings.recall == preset.recall
        assert settings.low_water == preset.cut_to_percent / 100
        assert settings.high_water == preset.cut_at_percent / 100
        assert settings.recall_share == preset.recall_percent / 100
        assert settings.deep_recall_share == preset.deep_recall_percent / 100


def test_the_balanced_preset_is_what_the_core_does_by_itself() -> None:
    settings = settings_of(resolve_valves(FilterValves(), "own"))
    assert replace(settings, scale_by_family=False) == Settings()
