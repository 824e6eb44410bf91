"""The measure: the core's own counts and rules, each message once."""

from __future__ import annotations

import pytest

from ask import broken_rules
from eunoe import ContextOrchestrator, Conversation, SettingsError
from eunoe_cli.ruler import Ruler


def test_it_counts_as_the_core_does(chat, chat_with_tools):
    tools = [{"type": "function", "function": {"name": "look", "parameters": {}}}]
    for messages in (chat, chat_with_tools):
        report = (
            ContextOrchestrator()
            .process_sync(Conversation.from_openai_messages(messages), tools=tools)
            .report
        )
        assert Ruler(messages, tools=tools).total(messages) == report.tokens_before


def test_it_refuses_what_lint_refuses(chat_with_tools):
    for view in (chat_with_tools, chat_with_tools[2:], chat_with_tools[1:], chat_with_tools[:2]):
        ruler = Ruler(chat_with_tools, profile="mistral")
        broken = broken_rules(view, "mistral")
        assert ruler.is_refused(view) == bool(broken)
    assert Ruler(chat_with_tools).is_refused([])


def test_a_lost_question_or_system_message_is_seen(chat):
    ruler = Ruler(chat)
    assert not ruler.is_incomplete(chat, chat)
    assert ruler.is_incomplete(chat[1:], chat)
    assert ruler.is_incomplete(chat[:1], chat)
    assert not ruler.is_incomplete([chat[0], chat[-1]], chat)


def test_an_unknown_profile_is_an_error():
    with pytest.raises(SettingsError, match="profile"):
        Ruler([], profile="nobody")
