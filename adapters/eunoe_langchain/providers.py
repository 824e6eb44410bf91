"""Which provider's rules apply, from what LangChain knows of the model and of earlier answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage

from eunoe.domain.profile import profile_of

_PROFILE_BY_PROVIDER = {
    "anthropic": "anthropic",
    "bedrock": "anthropic",
    "bedrock_converse": "anthropic",
    "amazon_bedrock": "anthropic",
    "google_genai": "gemini",
    "google_vertexai": "gemini",
    "google_anthropic_vertex": "anthropic",
    "mistralai": "mistral",
    "mistral": "mistral",
    "deepseek": "deepseek",
    "openai": "openai",
    "azure": "openai",
    "azure_openai": "openai",
}
_RESPONSES_CALLS = ("function_call", "custom_tool_call")


def profile_from(
    messages: Sequence[BaseMessage], *, model_id: str | None = None, provider: str | None = None
) -> str:
    """The name of the rule set that the next request must keep.

    Args:
        messages: the history; its newest answer that names a provider tells, if nothing else does.
        model_id: the model as the user named it; a name that points to rules wins.
        provider: the provider of the model that comes next, if a host knows it.

    Returns:
        A profile name; ``openai`` where nothing tells. That becomes ``responses`` as soon as the
        history holds items of that API. A model named only in earlier answers is no reason for the
        strict rules of its chat template: a hosted API does without them.
    """
    found = profile_of(model_id).name
    if found == "openai":
        found = _PROFILE_BY_PROVIDER.get(provider or "", "") or next(
            (p for m in reversed(messages) if (p := _profile_of_answer(m))), "openai"
        )
    if found == "openai" and any(map(_holds_responses_items, messages)):
        return "responses"
    return found


def model_name_of(model: Any) -> str | None:
    """The id of a chat model, as its integration names it."""
    for attribute in ("model_name", "model", "model_id"):
        name = getattr(model, attribute, None)
        if isinstance(name, str) and name:
            return name
    return None


def provider_of(model: Any) -> str | None:
    """The provider of a chat model, from the parameters that it gives to traces."""
    try:
        return model._get_ls_params().get("ls_provider")  # type: ignore[no-any-return]  # noqa: SLF001
    except Exception:  # another's code, asked for a hint only
        return None


def model_name_in(messages: Sequence[BaseMessage]) -> str | None:
    """The model that gave the newest answer, if it says so."""
    return answered_by(messages)[0]


def answered_by(messages: Sequence[BaseMessage]) -> tuple[str | None, str | None]:
    """The model that gave the newest answer that names one, and its provider, where it says so."""
    for message in reversed(messages):
        if isinstance(message, AIMessage):
            told = message.response_metadata
            name = told.get("model_name") or told.get("model")
            if isinstance(name, str) and name:
                return name, str(told.get("model_provider") or "") or None
    return None, None


def _profile_of_answer(message: BaseMessage) -> str | None:
    if not isinstance(message, AIMessage):
        return None
    return _PROFILE_BY_PROVIDER.get(str(message.response_metadata.get("model_provider") or ""))


def _holds_responses_items(message: BaseMessage) -> bool:
    if not isinstance(message, AIMessage) or not isinstance(message.content, list):
        return False
    return any(
        isinstance(block, dict)
        and (
            (block.get("type") in _RESPONSES_CALLS and bool(block.get("call_id")))
            or (block.get("type") == "reasoning" and str(block.get("id") or "").startswith("rs_"))
        )
        for block in message.content
    )
