"""What callers hand to the orchestrator, refused where it cannot be meant."""

from __future__ import annotations

from eunoe.domain.budget import require_budget
from eunoe.domain.checking import (
    require_choice,
    require_members,
    require_seconds,
    require_text_or_none,
    require_tools,
    require_whole,
)
from eunoe.domain.conversation import Conversation
from eunoe.domain.errors import ConversationError
from eunoe.domain.settings import POLICY_NAMES, require_settings


def check_parts(
    budget: object,
    settings: object,
    token_counter: object,
    flag_cap: object,
    embed_timeout: object,
    label_timeout: object,
    structure_timeout: object,
    **ports: object,
) -> None:
    """The parts that an orchestrator is made of; None is always allowed, but for the timeouts.

    Args:
        ports: what others may fill, by the name of its argument.

    Raises:
        SettingsError: one of them is of the wrong kind.
    """
    if budget is not None:
        require_budget("budget", budget)
    require_settings(settings)
    if token_counter is not None:
        members = ("name", "exact", "count", "count_batch")
        require_members("token_counter", token_counter, members, "a TokenCounter, or None")
    if flag_cap is not None:
        require_whole("flag_cap", flag_cap, "a whole number of tokens, 0 or above, or None")
    require_seconds("embed_timeout", embed_timeout)
    require_seconds("label_timeout", label_timeout, or_none=True)
    require_seconds("structure_timeout", structure_timeout)
    for name, value in ports.items():
        what, *port_members = _PORTS[name]
        if value is not None:
            require_members(name, value, port_members, f"{what}, or None")


_PORTS = {
    "embedder": ("an Embedder", "name", "dimension", "embed"),
    "labeller": ("a Labeller", "name", "label"),
    "summarizer": ("a Summarizer", "name", "summarize"),
    "summary_store": ("a SummaryStore", "find", "keep"),
    "entity_extractor": ("an EntityExtractor", "name", "extract"),
    "stance_judge": ("a StanceJudge", "name", "judge"),
    "observer": ("an Observer", "observe"),
    "prices": ("a PriceLookup", "get"),
    "strategies": ("Strategies(...)", "scorer", "algorithm", "tracker"),
    "memory": ("a PipelineMemory", "contents", "chats", "vectors"),
}


def check_request(
    conversation: object,
    model_id: object,
    tools: object,
    output_reserve: object,
    policy: object,
    budget: object,
) -> None:
    """The arguments of one request.

    Raises:
        ConversationError: the chat is no ``Conversation``.
        SettingsError: another argument is of the wrong kind.
    """
    if not isinstance(conversation, Conversation):
        raise ConversationError(
            f"conversation is {type(conversation).__name__}; "
            "allowed: Conversation.from_openai_messages(messages)"
        )
    require_text_or_none("model_id", model_id, "the name of a model")
    require_tools(tools)
    if output_reserve is not None:
        allowed = "a whole number of tokens, 0 or above, or None"
        require_whole("output_reserve", output_reserve, allowed)
    require_choice("policy", policy, POLICY_NAMES)
    if budget is not None:
        require_budget("budget", budget)
