"""Middleware for ``create_agent``: every model call sees a view, the state stays whole."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

from langchain_core.messages import BaseMessage, SystemMessage
from langchain_core.runnables import run_in_executor

from eunoe_langchain.providers import model_name_of, provider_of
from eunoe_langchain.tool_schemas import schemas_of

try:
    from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
except ImportError as error:
    raise ImportError(
        "the middleware needs langchain 1.0 or newer: pip install 'langchain>=1'"
    ) from error

if TYPE_CHECKING:
    from eunoe_langchain.runnable import HistoryOptimizer

    Middleware = AgentMiddleware[Any, Any, Any]
else:
    Middleware = AgentMiddleware  # how many parameters it takes depends on the version


class HistoryOptimizerMiddleware(Middleware):
    """Sends the model what fits; the system prompt and the tools' schemas count against the budget.

    It wraps the model call: nothing is written to the agent's state, no checkpoint grows, nothing
    appears in a stream. Put it last (innermost) to see what other middleware adds.

    Attributes:
        optimizer: the budget and the rules.
    """

    def __init__(self, optimizer: HistoryOptimizer) -> None:
        super().__init__()
        self.optimizer = optimizer

    def wrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], ModelResponse[Any]],
    ) -> ModelResponse[Any]:
        """Call the model with the view.

        Raises:
            BudgetError: with ``on_overflow="raise"``, if system prompt, tools and the current turn
                exceed the budget.
        """
        return handler(self._fit(request))

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """The same, planned off the event loop."""
        return await handler(await run_in_executor(None, self._fit, request))

    def _fit(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        system = _system_of(request)
        given: list[BaseMessage] = [*([system] if system is not None else []), *request.messages]
        if not given:
            return request
        view = self.optimizer.plan_request(
            given,
            tools=[*schemas_of(request.tools), *_answer_schemas(request.response_format)],
            model_hint=model_name_of(request.model),
            provider=provider_of(request.model),
        )
        head: BaseMessage | None = None
        messages: list[Any] = view
        if system is not None and _stands_for(view[0], request.messages):
            head, messages = view[0], view[1:]
        if head is not system:
            return request.override(messages=messages, **_system_field(request, head))
        if _same_objects(messages, request.messages):
            return request
        return request.override(messages=messages)


def _stands_for(first: BaseMessage, others: Sequence[object]) -> bool:
    """Whether the first message of a view is the request's system message, or its mended copy."""
    return isinstance(first, SystemMessage) and all(first is not other for other in others)


def _system_field(request: ModelRequest[Any], system: BaseMessage | None) -> Any:
    """The system message as an argument of ``override``."""
    if hasattr(request, "system_message"):
        return {"system_message": system}
    return {"system_prompt": None if system is None else system.text}


def _system_of(request: ModelRequest[Any]) -> SystemMessage | None:
    """The system message; the first versions of langchain have its text alone."""
    if hasattr(request, "system_message"):
        return request.system_message
    return SystemMessage(request.system_prompt) if request.system_prompt else None


def _answer_schemas(response_format: Any) -> list[dict[str, Any]]:
    """The schemas of a structured answer, which are sent as tools or beside them."""
    specs = getattr(response_format, "schema_specs", None) or [
        spec for spec in [getattr(response_format, "schema_spec", None)] if spec is not None
    ]
    return [
        {"name": spec.name, "description": spec.description, "parameters": spec.json_schema}
        for spec in specs
    ]


def _same_objects(one: Sequence[object], other: Sequence[object]) -> bool:
    return len(one) == len(other) and all(a is b for a, b in zip(one, other, strict=True))
