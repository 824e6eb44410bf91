"""Whose rules apply, from what the history and the model say."""

from __future__ import annotations

import pytest
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import AIMessage

from eunoe_langchain import HistoryOptimizer
from eunoe_langchain.providers import (
    model_name_in,
    model_name_of,
    profile_from,
    provider_of,
)
from langchain_lists import ai, human, places


def said_by(provider):
    return [human("q"), ai("a", response_metadata={"model_provider": provider}), human("q")]


@pytest.mark.parametrize(
    ("history", "hints", "expected"),
    [
        pytest.param([human("q")], {}, "openai", id="nothing known"),
        pytest.param(said_by("anthropic"), {}, "anthropic", id="the last answer tells"),
        pytest.param(said_by("google_genai"), {}, "gemini", id="gemini"),
        pytest.param(said_by("groq"), {}, "openai", id="a provider without rules of its own"),
        pytest.param(said_by("openai"), {"provider": "anthropic"}, "anthropic", id="host knows"),
        pytest.param(said_by("openai"), {"model_id": "claude-x"}, "anthropic", id="user knows"),
        pytest.param(said_by("anthropic"), {"model_id": "prod-1"}, "anthropic", id="name is mute"),
    ],
)
def test_the_profile_follows_from_the_best_source(history, hints, expected):
    assert profile_from(history, **hints) == expected


def test_items_of_the_responses_api_are_known_by_their_form():
    item = {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "f", "arguments": "{}"}
    assert profile_from([human("q"), AIMessage([item])]) == "responses"
    assert (
        profile_from([human("q"), AIMessage([{"type": "reasoning", "id": "rs_1"}])]) == "responses"
    )


def test_a_model_named_in_an_answer_brings_no_template_rules():
    chat = [
        human("q"),
        ai("a", response_metadata={"model_name": "llama-3"}),
        human("a"),
        human("b"),
    ]
    assert model_name_in(chat) == "llama-3"
    assert places(HistoryOptimizer(max_tokens=1_000).invoke(chat), chat) == [0, 1, 2, 3]
    strict = HistoryOptimizer(max_tokens=1_000, model_id="llama-3").invoke(chat)
    assert len(strict) == 3
    assert strict[-1].content == "a\n\nb"


def test_a_model_says_its_name_and_provider_if_it_has_them():
    class Named(FakeListChatModel):
        model_name: str = "gpt-4o"

        def _get_ls_params(self, stop=None, **kwargs):
            return {"ls_provider": "openai"}

    model = Named(responses=["x"])
    assert (model_name_of(model), provider_of(model)) == ("gpt-4o", "openai")
    assert (model_name_of(object()), provider_of(object())) == (None, None)
    assert model_name_in([human("q"), ai("a")]) is None
