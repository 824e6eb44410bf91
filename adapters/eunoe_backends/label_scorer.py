"""A language model that says what each message is worth to a question: K, H, M, S or D.

    labeller = ChatLabeller("http://localhost:11434/v1", "qwen3:4b")
    orchestrator = ContextOrchestrator(budget=..., labeller=labeller)
    await orchestrator.prepare(conversation)      # asks the model
    result = await orchestrator.process(conversation)

The whole history is shown, in pieces. A long one is entered in two steps: the model sees a table of
contents, names the topics to open (three at most), and labels what is in them; all else is S.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eunoe_backends.chat_endpoint import first_choice
from eunoe_backends.json_endpoint import JsonEndpoint
from eunoe_backends.label_prompting import PromptLabeller


class ChatLabeller(PromptLabeller):
    """Labels by ``POST {base_url}/chat/completions``. Safe across threads.

    Args:
        base_url: of an OpenAI-compatible server, its version included.
        model: its name there.
        api_key: sent as a bearer token; never logged.
        timeout: seconds for one request with all its tries.
        attempts: tries of a request.
        extra: more fields of the request's body, such as ``{"reasoning_effort": "low"}``.
        **shape: how it is asked, as of ``PromptLabeller``.

    Raises:
        BackendError: httpx is not installed.
        SettingsError: an argument is out of range.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        api_key: str | None = None,
        timeout: float = 20.0,
        attempts: int = 2,
        extra: Mapping[str, Any] | None = None,
        **shape: int,
    ) -> None:
        self._endpoint = JsonEndpoint(base_url, api_key, timeout=timeout, attempts=attempts)
        self._model, self._extra = model, dict(extra or {})
        super().__init__(f"{model} at {self._endpoint.host}", self._post, **shape)

    def close(self) -> None:
        """Close the connections."""
        self._endpoint.close()

    def _post(self, rules: str, content: str) -> str | None:
        choice = first_choice(self._endpoint, self._model, rules, content, self._extra)
        text = choice["message"]["content"]
        return text if isinstance(text, str) else None
