"""The names under which a model may be found."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eunoe.stages.accounting.model_names import (
    is_free_variant,
    model_name_candidates,
    pattern_matches,
    pattern_weight,
    without_dotted_prefix,
)


@pytest.mark.parametrize(
    ("given_name", "wanted"),
    [
        ("GPT-4o", "gpt-4o"),
        ("openrouter/openai/gpt-4o:free", "gpt-4o"),
        ("openai/gpt-4o", "gpt-4o"),
        ("gpt-4o-2024-08-06", "gpt-4o"),
        ("azure/eu/gpt-4o-2024-08-06", "gpt-4o"),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5"),
        ("bedrock/eu.anthropic.claude-haiku-4-5-20251001-v1:0", "claude-haiku-4-5"),
        ("global.anthropic.claude-opus-4-6-v1", "claude-opus-4-6"),
        ("claude-sonnet-4-5@20250929", "claude-sonnet-4-5"),
        ("anthropic/claude-sonnet-4.5", "claude-sonnet-4-5"),
        ("claude-3.5-sonnet-20241022", "claude-3-5-sonnet"),
        ("models/gemini-2.5-pro-preview-05-06", "gemini-2.5-pro"),
        ("gemini-2.0-flash-001", "gemini-2.0-flash"),
        ("gpt-4.1", "gpt-4.1"),
        ("x-ai/grok-4.3", "grok-4.3"),
    ],
)
def test_what_hosts_add_is_taken_off(given_name: str, wanted: str):
    assert wanted in model_name_candidates(given_name)


@pytest.mark.parametrize(
    ("given_name", "unwanted"),
    [
        ("gpt-4.1", "1"),
        ("gpt-4.1", "gpt-4"),
        ("gpt-4o", "gpt-4"),
        ("gpt-3.5-turbo", "5-turbo"),
        ("claude-3.5-sonnet", "5-sonnet"),
        ("gpt-4-1106-preview", "gpt-4"),
        ("ft:gpt-4o-2024-08-06:acme::1", "gpt-4o"),
        ("groq/openai/gpt-oss-120b", "gpt-oss-120b"),
        ("ollama/deepseek-v4-pro", "deepseek-v4-pro"),
        ("deepseek-v3", "deepseek"),
        ("llama3.2:3b", "llama3.2"),
        ("gpt-4o-audio-preview", "gpt-4o"),
    ],
)
def test_what_tells_models_apart_stays(given_name: str, unwanted: str):
    assert unwanted not in model_name_candidates(given_name)


@pytest.mark.parametrize(
    ("pattern", "fits", "not_"),
    [
        (
            "gpt-4*",
            ["gpt-4", "gpt-4-turbo", "gpt-4-0613"],
            ["gpt-4.1", "gpt-4o", "gpt-41", "gpt-5"],
        ),
        ("gpt-*", ["gpt-4", "gpt-4o", "gpt-4.1"], ["gpt", "o3"]),
        ("*", ["anything", "a/b"], []),
        ("claude-*-4-5", ["claude-opus-4-5"], ["claude-opus-4-50", "claude-opus-4-1"]),
        ("*-mini", ["gpt-4o-mini"], ["gpt-4o-minimal", "mini"]),
        ("acme/*", ["acme/x", "acme/y.1"], ["acme"]),
        ("a+b*", ["a+b-c"], ["aab"]),
    ],
)
def test_patterns(pattern: str, fits: list[str], not_: list[str]):
    assert [n for n in fits if not pattern_matches(pattern, n)] == []
    assert [n for n in not_ if pattern_matches(pattern, n)] == []


def test_a_prefix_before_a_dot_is_one_only_where_a_letter_follows():
    assert without_dotted_prefix("mine.gpt-4.1") == "gpt-4.1"
    assert without_dotted_prefix("gpt-4.1") is None
    assert without_dotted_prefix("a/b.c") is None
    assert without_dotted_prefix("plain") is None


def test_free():
    assert is_free_variant("openrouter/openai/gpt-4o:FREE ")
    assert not is_free_variant("free")


@given(st.text(max_size=60))
def test_any_text_has_names_the_fullest_first(text: str):
    names = model_name_candidates(text)
    assert len(set(names)) == len(names)
    assert names == model_name_candidates(text)
    if text.strip():
        assert names[0] == text.strip().lower()
    assert all(names)


@given(st.text(max_size=30))
def test_a_pattern_without_stars_fits_itself_alone(text: str):
    plain = text.replace("*", "").lower()
    assert pattern_matches(plain, plain)
    assert pattern_weight(plain) == len(plain)
    assert not pattern_matches(plain, plain + "x")
