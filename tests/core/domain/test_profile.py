from __future__ import annotations

import pytest

from eunoe.domain.errors import SettingsError
from eunoe.domain.profile import PROFILES, profile_of


@pytest.mark.parametrize(
    ("model", "name"),
    [
        (None, "openai"),
        ("", "openai"),
        ("gpt-4o", "openai"),
        ("o3-mini", "openai"),
        ("somebody/unheard-of", "openai"),
        ("claude-sonnet-4", "anthropic"),
        ("anthropic/claude-3.5-haiku", "anthropic"),
        ("us.anthropic.claude-opus-4-v1:0", "anthropic"),
        ("models/gemini-2.5-pro", "gemini"),
        ("mistral-large-latest", "mistral"),
        ("open-mixtral-8x7b", "mistral"),
        ("codestral", "mistral"),
        ("deepseek-reasoner", "deepseek"),
        ("gemma3:27b", "template"),
        ("Meta-Llama-3.1-8B-Instruct", "template"),
        ("qwen2.5:7b", "template"),
        ("QwQ-32B", "template"),
        ("deepseek-r1-distill-qwen-7b", "deepseek"),
        ("ollama/gpt-oss:20b", "openai"),
        ("ollama_chat/granite3", "openai"),
        ("ollama/llama3.2:3b", "template"),
        ("ollama/mistral:7b", "mistral"),
        ("codellama:13b", "template"),
        ("meta-llama/unheard-of", "template"),
        ("llama-proxy/gpt-4o", "openai"),
        ("claude-gateway/o3-mini", "openai"),
        ("openrouter/deepseek/deepseek-chat", "deepseek"),
        ("mistralai/mathstral", "mistral"),
        ("phi4:14b", "template"),
        ("microsoft/phi-4", "template"),
        ("Phi_3.5-mini-instruct", "template"),
        ("dolphin-3", "openai"),
    ],
)
def test_the_profile_of_a_model(model, name):
    assert profile_of(model).name == name


def test_a_profile_by_name_wins_over_the_model():
    assert profile_of("claude-sonnet-4", "mistral") is PROFILES["mistral"]


@pytest.mark.parametrize("name", ["", "OpenAI", "claude", "none"])
def test_an_unknown_profile_names_the_known_ones(name):
    with pytest.raises(SettingsError) as caught:
        profile_of("gpt-4o", name)
    assert str(caught.value) == (
        f"profile is {name!r}; allowed: openai, responses, anthropic, gemini, mistral, deepseek, "
        "template, permissive"
    )


RULES = {
    "system_at_head": {"anthropic", "gemini", "mistral", "template"},
    "user_first": {"anthropic", "gemini", "mistral", "template"},
    "alternate": {"mistral", "template"},
    "blank_refused": {"anthropic", "gemini", "mistral"},
    "reasoning_field_with_calls": {"deepseek"},
    "thinking_first": {"anthropic"},
    "reasoning_pairs": {"responses"},
}


@pytest.mark.parametrize("rule", RULES)
def test_who_has_which_rule(rule):
    assert {name for name, p in PROFILES.items() if getattr(p, rule)} == RULES[rule]


def test_every_profile_says_where_its_rules_come_from():
    assert all(p.source and p.name == name for name, p in PROFILES.items())
