"""Is this list valid for this provider? The same rules that check every outgoing list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from eunoe.domain.checking import require_text_or_none, require_tools, require_whole
from eunoe.domain.conversation import Conversation
from eunoe.domain.profile import profile_of, refuses_prefill
from eunoe.domain.settings import Settings, require_settings
from eunoe.domain.violation import Violation
from eunoe.stages.counting.message_cost import REPLY_PRIMING, count_messages_batch, count_tools
from eunoe.stages.counting.tokenizer import model_counter
from eunoe.stages.own_servers import check_own_servers
from eunoe.stages.validity import check_messages
from eunoe.wire.openai import read_message


def lint(
    messages: Sequence[Mapping[str, Any]],
    profile: str | None = None,
    *,
    budget: int | None = None,
    tools: Sequence[Mapping[str, Any]] | None = None,
    model_id: str | None = None,
    settings: Settings | None = None,
) -> tuple[Violation, ...]:
    """Every rule of the profile that the list breaks, and whether it is over the budget.

    Rules and tokens are those by which ``ContextOrchestrator`` judges what it sends.

    Args:
        messages: OpenAI-style dicts.
        profile: whose rules; None: those that ``model_id`` points to, else ``openai``.
        budget: tokens of all, 0 or None for no limit.
        tools: schemas sent along.
        model_id: the model's rules and its tokenizer.
        settings: an orchestrator's, if it has some: they may scale the count.

    Raises:
        ConversationError: the messages are no list of dicts.
        SettingsError: there is no such profile, the budget is no number of tokens, or the tools
            are no list of schemas.
    """
    if budget is not None:
        require_whole("budget", budget, "a whole number of tokens, 0 (no limit) or above")
    require_tools(tools)
    require_text_or_none("model_id", model_id, "the name of a model")
    require_settings(settings)
    messages = Conversation.from_openai_messages(messages).raw
    read = [read_message(m) for m in messages]
    rules = profile_of(model_id, profile)
    refused = refuses_prefill(model_id)
    found = check_messages(read, rules)
    found += check_own_servers(read, rules, tools, no_prefill=refused)
    if budget:
        counter = model_counter(model_id, (settings or Settings()).scale_by_family)
        total = sum(count_messages_batch(read, counter)) + (REPLY_PRIMING if read else 0)
        total += count_tools(tools, counter) if tools else 0
        if total > budget:
            found.append(Violation("over-budget", len(read), f"{total} tokens, {budget} allowed"))
    return tuple(found)
