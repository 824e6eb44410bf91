"""How many tokens a model's context window holds, from a request and what a server lists."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

# Keys under which servers report a model's window in their list of models, the loaded size first:
# LM Studio, vLLM, OpenRouter and others, Groq, Google, LiteLLM, llama.cpp.
_WINDOW_PATHS = (
    ("loaded_context_length",),
    ("max_model_len",),
    ("top_provider", "context_length"),
    ("context_length",),
    ("context_window",),
    ("max_context_length",),
    ("inputTokenLimit",),
    ("max_input_tokens",),
    ("meta", "n_ctx"),
    ("meta", "n_ctx_train"),
)

# What Ollama loads when nobody says `num_ctx`; a longer prompt is cut silently there.
# Source: Ollama FAQ, "How can I specify the context window size?"
_OLLAMA_WINDOW = 4_096

# Input windows of hosted models that no list reports; the first prefix that matches counts.
# Source: the providers' model pages.
_WINDOW_BY_PREFIX = (
    ("gpt-5-chat", 128_000),
    ("gpt-5", 272_000),
    ("gpt-4.1", 1_047_576),
    ("gpt-4o", 128_000),
    ("gpt-4-turbo", 128_000),
    ("gpt-4", 8_192),
    ("gpt-3.5-turbo", 16_385),
    ("chatgpt-4o", 128_000),
    ("o1-mini", 128_000),
    ("o1-preview", 128_000),
    ("o1", 200_000),
    ("o3", 200_000),
    ("o4", 200_000),
    ("claude", 200_000),
    ("gemini", 1_048_576),
    ("deepseek-chat", 128_000),
    ("deepseek-reasoner", 128_000),
    ("mistral-large-", 128_000),
)


def find_window(body: Mapping[str, Any], model: Mapping[str, Any], base: Mapping[str, Any]) -> int:
    """Tokens of the window; 0 where nothing tells.

    Args:
        body: the request; ``num_ctx`` in it or in its ``options`` is what the server will load.
        model: the host's entry of the chosen model.
        base: the entry of the model that a workspace model stands on, else empty.
    """
    if asked := requested_window(body):
        return asked
    for entry in _window_entries(model, base):
        for path in _WINDOW_PATHS:
            if size := _window_number(_window_at(entry, path)):
                return size
    if "ollama" in (model.get("owned_by"), base.get("owned_by")):
        return _OLLAMA_WINDOW
    names = [str(entry.get("id") or "") for entry in (base, model)] + [str(body.get("model") or "")]
    return next((size for name in names if (size := named_window(name))), 0)


def requested_window(body: Mapping[str, Any]) -> int:
    """Tokens that the server will load, as the request itself says; 0 where it does not."""
    own = _window_number(body.get("num_ctx"))
    return own or _window_number(_window_mapping(body.get("options")).get("num_ctx"))


def named_window(name: str) -> int:
    """Tokens of a hosted model by its name, a provider's prefix ("openai/") left aside; or 0.

    A server may give any name to any model, so what it lists goes before.
    """
    bare = name.lower().rsplit("/", 1)[-1]
    return next((size for prefix, size in _WINDOW_BY_PREFIX if bare.startswith(prefix)), 0)


def output_reserve_of(body: Mapping[str, Any]) -> int:
    """Tokens that the request itself keeps for the answer; 0 where it does not say."""
    options = _window_mapping(body.get("options"))
    for value in (
        body.get("max_completion_tokens"),
        body.get("max_tokens"),
        options.get("num_predict"),
    ):
        if size := _window_number(value):
            return size
    return 0


def input_room(caps: Sequence[int], window: int, share: float, reserve: int) -> int:
    """Tokens that messages and tools may take; 0 for no limit.

    The answer's room is taken from the smallest limit, but never more than half of it, lest a
    generous ``max_tokens`` leaves no chat.

    Args:
        caps: limits in tokens, the answer included; 0 for none.
        window: of the model; 0 if unknown.
        share: of the window that the input may take, in (0, 1].
        reserve: tokens for the answer.
    """
    limits = [size for size in (*caps, window) if size]
    if not limits:
        return 0
    total = min(limits)
    room = total - min(reserve, total // 2)
    return max(1, min(room, round(window * share)) if window else room)


def _window_entries(*entries: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Every place that may hold what the server said: settings of the model, then raw entries."""
    for entry in entries:
        params = _window_mapping(_window_mapping(entry.get("info")).get("params"))
        if num_ctx := params.get("num_ctx"):
            yield {"max_model_len": num_ctx}
    for entry in entries:
        yield entry
        yield _window_mapping(entry.get("openai"))


def _window_at(entry: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    value: Any = entry
    for key in path:
        value = _window_mapping(value).get(key)
    return value


def _window_mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _window_number(value: Any) -> int:
    """A positive number of tokens, also from text; 0 for anything else."""
    if isinstance(value, bool):
        return 0
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        return 0
    return max(0, number)
