"""One question to a model behind an OpenAI-compatible server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eunoe_backends.json_endpoint import JsonEndpoint


def first_choice(
    endpoint: JsonEndpoint, model: str, rules: str, content: str, extra: Mapping[str, Any]
) -> Any:
    """The first choice of ``POST {base_url}/chat/completions``, as the server sent it.

    Args:
        endpoint: of the server.
        model: its name there.
        rules, content: the system message and the user's.
        extra: more fields of the request's body.

    Raises:
        BackendError: there was no usable answer in time.
        LookupError, TypeError: the answer is no completion.
    """
    messages = [{"role": "system", "content": rules}, {"role": "user", "content": content}]
    body = {"model": model, "messages": messages, "temperature": 0, **extra}
    return endpoint.post("chat/completions", body)["choices"][0]
