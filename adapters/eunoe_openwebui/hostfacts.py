"""What can be learnt from the running Open WebUI, if there is one; nothing of it is required."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping
from typing import Any

# Since this version the host calls `request` before every model call, with tools and documents in.
_REQUEST_HOOK_SINCE = (0, 11, 2)


def host_runs_request_hook() -> bool:
    """Whether the host in this process calls `Filter.request`; False where none is running."""
    environment = sys.modules.get("open_webui.env")
    return _host_version(getattr(environment, "VERSION", "")) >= _REQUEST_HOOK_SINCE


def _host_version(text: object) -> tuple[int, ...]:
    """The leading numbers of a version: "0.12.4-dev" is (0, 12, 4)."""
    numbers: list[int] = []
    for part in str(text).split(".")[:3]:
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        if not digits:
            break
        numbers.append(int(digits))
    return tuple(numbers)


async def stored_model_prompt(model_id: str) -> str:
    """System prompt that the host will put before the chat for this model; empty if none.

    Only needed before 0.11.2, where the filter runs before the host works it out. The call is
    synchronous there before 0.9 and asynchronous since.
    """
    models = getattr(sys.modules.get("open_webui.models.models"), "Models", None)
    if models is None or not model_id:
        return ""
    entry = models.get_model_by_id(model_id)
    if inspect.isawaitable(entry):
        entry = await entry
    params = getattr(entry, "params", None)
    dump = getattr(params, "model_dump", None)
    plain = dump() if dump else params
    return str(plain.get("system") or "") if isinstance(plain, Mapping) else ""


def base_entry(request: Any, model_id: str) -> Mapping[str, Any]:
    """The host's entry of a model, found through the request's application; empty if unknown."""
    models = _host_state(request, "MODELS")
    entry = models.get(model_id) if models and model_id else None
    return entry if isinstance(entry, Mapping) else {}


def host_embedding(request: Any) -> Any:
    """The host's function from texts to vectors, which it uses for documents; None without one."""
    return _host_state(request, "EMBEDDING_FUNCTION")


def host_embedding_prefix(kind: str) -> str:
    """What the host sets before a QUERY or a CONTENT that it embeds; empty for nothing."""
    settings = sys.modules.get("open_webui.config")
    return str(getattr(settings, f"RAG_EMBEDDING_{kind}_PREFIX", None) or "")


def _host_state(request: Any, name: str) -> Any:
    return getattr(getattr(getattr(request, "app", None), "state", None), name, None)
