"""A language model that sums up what a cut leaves out.

summarizer = LLMSummarizer("http://localhost:11434/v1", model="qwen3:4b")
orchestrator = ContextOrchestrator(budget=..., summarizer=summarizer)
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from eunoe.domain.errors import BackendError
from eunoe_backends.chat_endpoint import first_choice
from eunoe_backends.json_endpoint import JsonEndpoint
from eunoe_backends.summary_prompting import SUMMARY_RULES, PromptSummarizer

_CUT_SHORT = ("length", "max_tokens", "content_filter")


class LLMSummarizer(PromptSummarizer):
    """Summaries by ``POST {api_base}/chat/completions``. Safe across threads.

    Args:
        api_base: of an OpenAI-compatible server, its version included.
        api_key: sent as a bearer token; never logged.
        model: its name there.
        system_prompt: what the model is told instead of our rules; ``{words}`` becomes the length
            wanted, other braces stay as they are.
        retry_attempts: tries of a request, at least 1.
        timeout: seconds for one request with all its tries.
        extra_body: more fields of the request's body, such as ``{"reasoning_effort": "low"}``.

    Raises:
        BackendError: httpx is not installed.
        SettingsError: an argument is out of range.
    """

    def __init__(
        self,
        api_base: str,
        api_key: str | None = None,
        model: str = "gpt-4o-mini",
        *,
        system_prompt: str | None = None,
        retry_attempts: int = 3,
        timeout: float = 80.0,
        extra_body: Mapping[str, Any] | None = None,
    ) -> None:
        self._endpoint = JsonEndpoint(api_base, api_key, timeout=timeout, attempts=retry_attempts)
        self._model, self._extra = model, dict(extra_body or {})
        rules = system_prompt if system_prompt is not None else SUMMARY_RULES
        asked = hashlib.sha256(rules.encode("utf-8", "replace")).hexdigest()[:8]
        name = f"{model} at {self._endpoint.host}, asked by {asked}"
        super().__init__(name, self._post, rules=rules)

    def close(self) -> None:
        """Close the connections."""
        self._endpoint.close()

    def _post(self, rules: str, content: str) -> str | None:
        try:
            choice = first_choice(self._endpoint, self._model, rules, content, self._extra)
            text, ended = choice["message"]["content"], choice.get("finish_reason")
        except (KeyError, IndexError, TypeError, AttributeError) as error:
            raise BackendError(f"{self._endpoint.host}: the answer is no completion") from error
        if ended in _CUT_SHORT:
            raise BackendError(f"{self._endpoint.host}: the summary was cut short ({ended})")
        return text if isinstance(text, str) else None
