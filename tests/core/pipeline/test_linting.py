"""`lint` judges by what `ContextOrchestrator` sends by: the same counter, the same rules."""

from __future__ import annotations

import pytest

from eunoe import (
    ContextOrchestrator,
    Conversation,
    PipelineMemory,
    Settings,
    SettingsError,
    TokenBudget,
    lint,
)
from strategies import assistant, user

CHAT = [
    m
    for i in range(12)
    for m in (user(f"question {i} of the garden, größer"), assistant("because " * 30))
]
CHAT.append(user("and now?"))
BAD = [user("q"), {"role": "system", "content": "late"}, assistant("x")]


@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("model_id", ["claude-3-5-sonnet", "gemma-3-27b", "gpt-4o", "nobody", None])
def test_sizes_are_those_of_the_orchestrator(model_id, scale):
    settings = Settings(scale_by_family=scale)
    by = ContextOrchestrator(TokenBudget(700), settings=settings, memory=PipelineMemory())
    result = by.process_sync(Conversation.from_openai_messages(CHAT), model_id=model_id)
    sent = result.conversation.to_openai_messages()
    size = result.report.tokens_after
    assert lint(sent, budget=size, model_id=model_id, settings=settings) == ()
    [found] = lint(sent, budget=size - 1, model_id=model_id, settings=settings)
    assert found.code == "over-budget"
    assert str(size) in found.message


def test_a_model_brings_its_rules_unless_a_profile_is_named():
    assert [v.code for v in lint(BAD, model_id="claude-3-5-sonnet")] == ["late-system"]
    assert lint(BAD) == lint(BAD, model_id="gpt-4o") == ()
    assert lint(BAD, "openai", model_id="claude-3-5-sonnet") == ()
    assert [v.code for v in lint(BAD, "anthropic", model_id="gpt-4o")] == ["late-system"]


def test_settings_are_settings():
    with pytest.raises(SettingsError, match=r"Settings\(...\)"):
        lint(CHAT, settings={"scale_by_family": True})  # type: ignore[arg-type]
