"""The names of a model: what hosts, routers, regions and dates add to it, taken off again."""

from __future__ import annotations

import re
from itertools import pairwise

# Hosts that set their own prices for open models: what their maker charges says nothing there.
_OWN_PRICE_HOSTS = frozenset(
    "accounts anyscale baseten cerebras cloudflare databricks deepinfra featherless fireworks "
    "fireworks_ai friendliai groq hf huggingface hyperbolic lambda lemonade llamacpp lm_studio "
    "lmstudio local localhost nebius novita nscale nvidia nvidia_nim ollama ollama_chat replicate "
    "sambanova siliconflow together together_ai togethercomputer vllm watsonx".split()
)
_DOTTED_PREFIXES = re.compile(
    r"^(?:us|eu|ap|apac|au|jp|ca|sa|me|af|uk|us-gov|global|anthropic|openai|google|mistral|cohere|"
    r"deepseek|xai|moonshot|moonshotai|qwen|zai|minimax|amazon|meta)\.(?=[a-z])"
)
_VARIANT = re.compile(r":(?:free|beta|extended|thinking|nitro|floor|online|exacto|\d+)$")
_VERSION_MARK = re.compile(r"(?<=\d)-v\d+$")
_DATE = re.compile(
    r"[-@](?:20\d\d-[01]\d-[0-3]\d|20\d\d[01]\d[0-3]\d|[01]\d-[0-3]\d|[01]\d-20\d\d)$"
)
_STATUS_MARK = re.compile(r"[-@](?:latest|preview|default|\d{3})$")
_DOTTED_NUMBER = re.compile(r"(?<=\d)\.(?=\d)")


def is_free_variant(model_id: str) -> bool:
    """Whether the name says that nothing is charged: OpenRouter's ``:free``."""
    return model_id.strip().lower().endswith(":free")


def model_name_candidates(model_id: str) -> tuple[str, ...]:
    """The names under which a model may be found, the one that says most first.

    Taken off, one after the other: variants (``:free``), paths of routers (``openrouter/openai/``),
    regions and vendors (``us.anthropic.``), versions (``-v1:0``), dates (``-2024-08-06``,
    ``@20250929``), states (``-latest``, ``-preview``, ``-001``). The dotted version numbers of
    Claude become dashed ones, as its maker writes them. A number is never a prefix: ``gpt-4.1``
    stays whole. Four digits alone are no date, since they tell models apart (``gpt-4-1106``).

    A path that names a host with prices of its own (``groq/``, ``ollama/``) is not taken off, nor
    is a fine-tuned model (``ft:``) the model that it was made from.
    """
    name = model_id.strip().lower()
    if not name:
        return ()
    found: dict[str, None] = {name: None}
    if name.startswith("ft:"):
        return tuple(found)
    bare = _VARIANT.sub("", name)
    found[bare] = None
    parts = bare.split("/")
    if not _OWN_PRICE_HOSTS.intersection(parts[:-1]):
        for k in range(1, len(parts)):
            if parts[k]:
                found["/".join(parts[k:])] = None
    for known in list(found):
        for shorter in _without_marks(known):
            found[shorter] = None
    return tuple(found)


def _without_marks(name: str) -> list[str]:
    """The name less its regions, dates and states, step by step."""
    steps: list[str] = []
    while (shorter := _DOTTED_PREFIXES.sub("", name)) != name:
        name = shorter
        steps.append(name)
    for mark in (_VERSION_MARK, _DATE, _STATUS_MARK, _DATE, _STATUS_MARK):
        shorter = mark.sub("", name)
        if shorter != name and shorter:
            name = shorter
            steps.append(name)
    dashed = [_DOTTED_NUMBER.sub("-", s) for s in steps or [name] if "claude" in s]
    return [*steps, *dashed]


def without_dotted_prefix(name: str) -> str | None:
    """The name after its first dot, if a letter stands there: a host's prefix (``mine.gpt-4.1``).

    None where the dot belongs to a version number.
    """
    head, dot, rest = name.partition(".")
    return rest if dot and head and rest[:1].isalpha() and "/" not in head else None


def pattern_matches(pattern: str, name: str) -> bool:
    """Whether a name fits a pattern with ``*``; a star never continues a word or a number.

    ``gpt-4*`` fits ``gpt-4`` and ``gpt-4-turbo``, but neither ``gpt-4o`` nor ``gpt-4.1``; ``gpt-*``
    fits all four.
    """
    return _pattern_regex(pattern).fullmatch(name) is not None


def _pattern_regex(pattern: str) -> re.Pattern[str]:
    pieces = pattern.lower().split("*")
    text = re.escape(pieces[0])
    for before, after in pairwise(pieces):
        text += r"(?:[^a-z0-9._].*)?" if before[-1:].isalnum() else ".*"
        text += re.escape(after)
    return re.compile(text, re.DOTALL)


def pattern_weight(pattern: str) -> int:
    """How much a pattern says: its letters other than stars."""
    return len(pattern) - pattern.count("*")
