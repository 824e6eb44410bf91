"""What the providers ask of a message list, as data."""

from __future__ import annotations

from dataclasses import dataclass

from eunoe.domain.checking import require_choice


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderProfile:
    """The rules of one kind of provider. Every rule is a fact; the stages branch on facts only.

    Attributes:
        name: the profile's name.
        system_at_head: a system message after the first turn is refused.
        user_first: the first turn must be a user message.
        alternate: visible user and assistant messages must alternate; tool flow is not counted.
        blank_refused: text of blanks alone is refused, not only missing content.
        call_id_length: call ids must be exactly so many letters or digits; 0: any id.
        reasoning_field_with_calls: once reasoning came back, every call needs its reasoning field.
        thinking_first: if there are thinking blocks, the first block must be one.
        reasoning_pairs: a reasoning item needs the item behind it, and item ids are unique.
        source: where the provider says so.
    """

    name: str
    system_at_head: bool = False
    user_first: bool = False
    alternate: bool = False
    blank_refused: bool = False
    call_id_length: int = 0
    reasoning_field_with_calls: bool = False
    thinking_first: bool = False
    reasoning_pairs: bool = False
    source: str = ""


PROFILES: dict[str, ProviderProfile] = {
    p.name: p
    for p in (
        ProviderProfile(
            name="openai",
            source="OpenAI API reference, Create chat completion: messages, tool messages",
        ),
        ProviderProfile(
            name="responses",
            reasoning_pairs=True,
            source="OpenAI guide, Reasoning models: keeping reasoning items in context",
        ),
        ProviderProfile(
            name="anthropic",
            system_at_head=True,
            user_first=True,
            blank_refused=True,
            thinking_first=True,
            source="Anthropic docs, Messages API and Extended thinking: preserving thinking blocks",
        ),
        ProviderProfile(
            name="gemini",
            system_at_head=True,
            user_first=True,
            blank_refused=True,
            source="Gemini API, Function calling and Thought signatures: order of turns",
        ),
        ProviderProfile(
            name="mistral",
            system_at_head=True,
            user_first=True,
            alternate=True,
            blank_refused=True,
            call_id_length=9,
            source="mistral-common, request validation: order of roles, call ids of nine letters",
        ),
        ProviderProfile(
            name="deepseek",
            reasoning_field_with_calls=True,
            source="DeepSeek API docs, Thinking mode: reasoning_content with tool calls",
        ),
        ProviderProfile(
            name="template",
            system_at_head=True,
            user_first=True,
            alternate=True,
            source="chat templates of Gemma, Llama 2 and Mistral: 'roles must alternate'",
        ),
        ProviderProfile(name="permissive", source="servers that take any order of known roles"),
    )
}

_PROFILE_BY_MARK = (
    ("claude", "anthropic"),
    ("anthropic", "anthropic"),
    ("gemini", "gemini"),
    ("mistral", "mistral"),
    ("mixtral", "mistral"),
    ("ministral", "mistral"),
    ("codestral", "mistral"),
    ("devstral", "mistral"),
    ("magistral", "mistral"),
    ("deepseek", "deepseek"),
    ("gemma", "template"),
    ("llama", "template"),
    ("qwen", "template"),
    ("qwq", "template"),
    ("phi-", "template"),
    ("vicuna", "template"),
)


def profile_of(model_id: str | None, name: str | None = None) -> ProviderProfile:
    """The profile named, else the one that the model id points to, else ``openai``.

    An unknown model gets ``openai``: its rules on calls are the strictest that cost nothing.

    Raises:
        SettingsError: there is no profile of that name.
    """
    if name is not None:
        require_choice("profile", name, tuple(PROFILES))
        return PROFILES[name]
    lowered = (model_id or "").lower()
    return PROFILES[next((p for mark, p in _PROFILE_BY_MARK if mark in lowered), "openai")]
