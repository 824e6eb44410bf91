"""What the providers ask of a message list, as data."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from eunoe.domain.checking import require_choice


@dataclass(frozen=True, slots=True)
class TextForm:
    """A form that a whole text must have: as a pattern, and in words."""

    pattern: str
    words: str

    def fits(self, text: str | None) -> bool:
        """Whether the text has the form."""
        return text is not None and re.fullmatch(self.pattern, text) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnServers:
    """What the provider's own servers refuse beside, though others that serve its models may not.

    ``lint`` names it. Nothing of it is mended unasked: names and ids are the caller's, and an
    answer that stands last may be the beginning of the next one.

    Attributes:
        call_id: form of call ids; ``call_id_length`` is the length of those that are rewritten.
        tool_name: form of the names of tools, in calls and in schemas.
        speaker_name: form of the field ``name`` of a message.
        most_tools: schemas that may be sent along; 0: any number.
        answer_last: an answer that stands last and is not marked as a prefix is refused.
        blank_end: an answer that stands last may not end with blanks.
    """

    call_id: TextForm | None = None
    call_id_length: int = 40
    tool_name: TextForm | None = None
    speaker_name: TextForm | None = None
    most_tools: int = 0
    answer_last: bool = False
    blank_end: bool = False


_SIMPLE_NAME = TextForm("[a-zA-Z0-9_-]{1,64}", "1 to 64 letters, digits, _ or -")
_OPENAI_SERVERS = OwnServers(
    call_id=TextForm("(?s).{1,40}", "1 to 40 characters"),
    tool_name=_SIMPLE_NAME,
    speaker_name=TextForm(r"[^\s<|\\/>]+", "no blanks and none of < | \\ / >"),
    most_tools=128,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderProfile:
    """The rules of one kind of provider. Every rule is a fact; the stages branch on facts only.

    Attributes:
        name: the profile's name.
        system_at_head: a system message after the first turn is refused.
        user_first: the first turn must be a user message.
        alternate: visible user and assistant messages must alternate; tool flow is not counted.
        blank_refused: text of blanks alone is refused, not only missing content.
        reasoning_field_with_calls: once reasoning came back, every call needs its reasoning field.
        thinking_first: if there are thinking blocks, the first block must be one.
        reasoning_pairs: a reasoning item needs the item behind it, and item ids are unique.
        servers: what its own servers refuse beside.
        source: where the provider says so.
    """

    name: str
    system_at_head: bool = False
    user_first: bool = False
    alternate: bool = False
    blank_refused: bool = False
    reasoning_field_with_calls: bool = False
    thinking_first: bool = False
    reasoning_pairs: bool = False
    servers: OwnServers = OwnServers()
    source: str = ""


PROFILES: dict[str, ProviderProfile] = {
    p.name: p
    for p in (
        ProviderProfile(
            name="openai",
            servers=_OPENAI_SERVERS,
            source="OpenAI API reference, Create chat completion: messages, tools; the limits of "
            "ids, names and tools are in its errors (string_above_max_length, invalid_value)",
        ),
        ProviderProfile(
            name="responses",
            reasoning_pairs=True,
            servers=replace(
                _OPENAI_SERVERS,
                call_id=TextForm("(?s).{1,64}", "1 to 64 characters"),
                speaker_name=None,
            ),
            source="OpenAI guide, Reasoning models: keeping reasoning items in context",
        ),
        ProviderProfile(
            name="anthropic",
            system_at_head=True,
            user_first=True,
            blank_refused=True,
            thinking_first=True,
            servers=OwnServers(
                call_id=TextForm("[a-zA-Z0-9_-]+", "letters, digits, _ or -"),
                tool_name=TextForm("[a-zA-Z0-9_-]{1,128}", "1 to 128 letters, digits, _ or -"),
                blank_end=True,
            ),
            source="Anthropic docs, Messages API; Extended thinking: preserving thinking blocks; "
            "Migrating to Claude 4.6: prefill removal",
        ),
        ProviderProfile(
            name="gemini",
            system_at_head=True,
            user_first=True,
            blank_refused=True,
            servers=OwnServers(
                tool_name=TextForm(
                    "[a-zA-Z0-9_.:-]{1,128}", "1 to 128 letters, digits or signs of _ . : -"
                )
            ),
            source="Gemini API, Function calling and Thought signatures: order of turns",
        ),
        ProviderProfile(
            name="mistral",
            system_at_head=True,
            user_first=True,
            alternate=True,
            blank_refused=True,
            servers=OwnServers(
                call_id=TextForm("[a-zA-Z0-9]{9}", "9 letters or digits"),
                call_id_length=9,
                tool_name=_SIMPLE_NAME,
                answer_last=True,
            ),
            source="mistral-common, request validation: order of roles, the last message, names, "
            "call ids of nine letters",
        ),
        ProviderProfile(
            name="deepseek",
            reasoning_field_with_calls=True,
            servers=OwnServers(tool_name=_SIMPLE_NAME, most_tools=128),
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

# First match wins; the name of the model is tried alone, then with its provider. Not the families
# of vocabularies: Gemma counts as Gemini does, and has another template.
_PROFILE_PATTERNS = tuple(
    (re.compile(pattern), profile)
    for pattern, profile in (
        (r"claude|anthropic", "anthropic"),
        (r"gemini", "gemini"),
        (r"mi[sx]tral|(?:mini|code|dev|magi)stral", "mistral"),
        (r"deepseek", "deepseek"),
        (r"gemma|(?<!o)llama|qwen|qwq|(?<![a-z])phi-?\d|vicuna", "template"),
        (r"gpt|(?<![a-z\d])o[1-9](?![a-z\d])", "openai"),
    )
)


def model_names(model_id: str | None) -> tuple[str, str]:
    """A model's name alone, and with all that hosts write before it; lower case, no underscores.

    What stands before is a server more often than a maker: ``ollama/gpt-oss:20b`` is no Llama.
    """
    name = str(model_id or "").strip().lower().replace("_", "-")
    return name.rsplit("/", 1)[-1], name


def profile_of(model_id: str | None, name: str | None = None) -> ProviderProfile:
    """The profile named, else the one that the model id points to, else ``openai``.

    An unknown model gets ``openai``: its rules on calls are the strictest that cost nothing.

    Raises:
        SettingsError: there is no profile of that name.
    """
    if name is not None:
        require_choice("profile", name, tuple(PROFILES))
        return PROFILES[name]
    found = (
        profile
        for text in model_names(model_id)
        for pattern, profile in _PROFILE_PATTERNS
        if pattern.search(text)
    )
    return PROFILES[next(found, "openai")]


_CLAUDE_VERSION = re.compile(
    r"claude-(?:[a-z]+-(?P<major>\d{1,2})(?:[-.](?P<minor>\d{1,2})(?!\d))?(?!\d)|(?P<old>\d))"
)
_NO_PREFILL_SINCE = (4, 6)


def refuses_prefill(model_id: str | None) -> bool:
    """Whether a model takes no beginning of its answer: Claude does not since 4.6.

    Source: Anthropic docs, Migrating to Claude 4.6: prefilling returns a 400 error.
    """
    found = _CLAUDE_VERSION.search((model_id or "").lower())
    if found is None or found["old"]:
        return False
    return (int(found["major"]), int(found["minor"] or 0)) >= _NO_PREFILL_SINCE
