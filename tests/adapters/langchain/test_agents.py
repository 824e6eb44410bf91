"""Agents: in a graph's node, as a hook, as middleware. The state is never rewritten."""

from __future__ import annotations

import asyncio
import inspect
import pickle
import warnings
from typing import Any

import pytest
from langchain_core.language_models.fake_chat_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage, SystemMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from pydantic import BaseModel, Field

from eunoe_langchain import BudgetError, HistoryOptimizer
from langchain_lists import ai, frozen, human, long_history, places, problems

pytest.importorskip("langgraph")
agents = pytest.importorskip("langchain.agents")
graph = pytest.importorskip("langgraph.graph")
ModelRequest = pytest.importorskip("langchain.agents.middleware").ModelRequest

HISTORY = long_history()
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


class Agent(FakeMessagesListChatModel):
    """A model that answers from a list, binds tools, and remembers what it was sent."""

    responses: list[Any] = Field(default_factory=lambda: [AIMessage("done")])
    seen: list[Any] = Field(default_factory=list)
    bound: list[Any] = Field(default_factory=list)

    def bind_tools(self, tools, **kwargs):
        self.bound.append(tools)
        return self.bind(tools=tools)

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        self.seen.append(list(messages))
        answer = self.responses[min(len(self.seen), len(self.responses)) - 1]
        return ChatResult(generations=[ChatGeneration(message=answer.model_copy())])


@pytest.fixture
def model():
    return Agent(seen=[], bound=[])


def request_of(model, messages, *, system=None, tools=(), response_format=None):
    """A request as an agent makes it, in any version of langchain."""
    fields = {
        "tool_choice": None,
        "tools": list(tools),
        "response_format": response_format,
        "state": {"messages": messages},
        "runtime": None,
    }
    if "system_message" in inspect.signature(ModelRequest).parameters:
        fields["system_message"] = system
    else:
        fields["system_prompt"] = system and system.content
    return ModelRequest(model=model, messages=messages, **fields)


@tool
def look(q: str) -> str:
    """Look something up."""
    return "found " * 20


def test_in_a_node_the_state_stays_whole(model):
    chain = HistoryOptimizer(max_tokens=60) | model

    def call(state: graph.MessagesState, config):
        return {"messages": [chain.invoke(state["messages"], config)]}

    app = graph.StateGraph(graph.MessagesState).add_node("model", call)
    app = app.add_edge(graph.START, "model").compile()
    out = app.invoke({"messages": HISTORY})
    assert len(out["messages"]) == len(HISTORY) + 1
    assert len(model.seen[-1]) == 4


def react_agent(*args, **kwargs):
    from langgraph.prebuilt import create_react_agent

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return create_react_agent(*args, **kwargs)


def test_as_a_hook_the_model_sees_the_view(model):
    hook = HistoryOptimizer(max_tokens=60).as_pre_model_hook()
    out = react_agent(model, [], pre_model_hook=hook).invoke({"messages": HISTORY})
    assert len(out["messages"]) == len(HISTORY) + 1
    assert len(model.seen[-1]) == 4


def test_as_a_hook_it_can_rewrite_the_state_for_good(model):
    hook = HistoryOptimizer(max_tokens=60).as_pre_model_hook(rewrite=True)
    out = react_agent(model, [], pre_model_hook=hook).invoke({"messages": HISTORY})
    assert len(model.seen[-1]) == 4
    assert len(out["messages"]) == 5


def test_a_pickled_hook_rewrites_the_state_too(model):
    hook = pickle.loads(
        pickle.dumps(HistoryOptimizer(max_tokens=60).as_pre_model_hook(rewrite=True))
    )
    out = react_agent(model, [], pre_model_hook=hook).invoke({"messages": HISTORY})
    assert len(out["messages"]) == 5


def test_as_middleware_the_system_prompt_counts_and_the_state_stays_whole(model):
    middleware = HistoryOptimizer(max_tokens=70).as_middleware()
    agent = agents.create_agent(model, [], system_prompt="be kind", middleware=[middleware])
    out = agent.invoke({"messages": HISTORY[1:]})
    assert len(out["messages"]) == len(HISTORY)
    assert len(model.seen[-1]) == 4
    assert model.seen[-1][0].content == "be kind"


def test_as_middleware_tools_count_against_the_budget(model):
    def seen_with(tools):
        agent = agents.create_agent(
            model, tools, middleware=[HistoryOptimizer(max_tokens=110).as_middleware()]
        )
        agent.invoke({"messages": HISTORY})
        return len(model.seen[-1])

    assert seen_with([look]) < seen_with([])
    tight = HistoryOptimizer(max_tokens=40).as_middleware()
    agent = agents.create_agent(model, [look], middleware=[tight])
    with pytest.raises(BudgetError):
        agent.invoke({"messages": HISTORY})


def test_as_middleware_it_works_without_blocking_the_loop(model):
    middleware = HistoryOptimizer(max_tokens=70).as_middleware()
    agent = agents.create_agent(model, [], middleware=[middleware])

    async def run():
        return await agent.ainvoke({"messages": HISTORY})

    out = asyncio.run(run())
    assert len(out["messages"]) == len(HISTORY) + 1
    assert len(model.seen[-1]) < len(HISTORY)


def test_a_tool_loop_in_an_agent_stays_legal_and_inside_the_budget(model):
    model.responses = [
        *[ai("", f"c{k}", args={"q": "x"}) for k in range(4)],
        AIMessage("the end"),
    ]
    middleware = HistoryOptimizer(max_tokens=260, on_overflow="truncate").as_middleware()
    agent = agents.create_agent(model, [look], system_prompt="be kind", middleware=[middleware])
    out = agent.invoke({"messages": [*HISTORY[1:-1], human("look four times")]})
    assert out["messages"][-1].content == "the end"
    assert len(model.seen) == 5
    assert all(problems(view) == [] for view in model.seen)
    assert all(isinstance(view[0], SystemMessage) for view in model.seen)


def test_what_a_stream_of_messages_shows_is_the_answer_alone(model):
    middleware = HistoryOptimizer(max_tokens=400, settings={"recall": "always"}).as_middleware()
    agent = agents.create_agent(model, [], middleware=[middleware])
    shown = [c.content for c, _ in agent.stream({"messages": HISTORY}, stream_mode="messages")]
    assert shown == ["done"]


def test_a_request_that_fits_is_passed_on_as_it_is(model):
    middleware = HistoryOptimizer(max_tokens=10_000).as_middleware()
    given = list(HISTORY[1:])
    request = request_of(model, given, system=HISTORY[0], tools=[look])
    seen = []
    middleware.wrap_model_call(request, seen.append)
    assert seen == [request]
    empty = request_of(model, [])
    middleware.wrap_model_call(empty, seen.append)
    assert seen[-1] is empty


def test_the_messages_of_the_request_are_not_touched(model):
    middleware = HistoryOptimizer(max_tokens=60).as_middleware()
    given = list(HISTORY[1:])
    before = frozen(given)
    seen = []
    middleware.wrap_model_call(request_of(model, given, system=HISTORY[0]), seen.append)
    assert frozen(given) == before
    assert places(seen[0].messages, given) == [14, 15, 16]
    assert seen[0].system_prompt == "sys"


@pytest.mark.parametrize(
    ("prompt", "sent"),
    [("half \ud83d", ["half \ufffd"]), ("whole", ["whole"]), (SystemMessage([]), [])],
)
def test_a_system_prompt_that_no_provider_takes_is_mended_where_it_stands(model, prompt, sent):
    middleware = HistoryOptimizer(max_tokens=70).as_middleware()
    agent = agents.create_agent(model, [], system_prompt=prompt, middleware=[middleware])
    agent.invoke({"messages": [SystemMessage("of the state"), *HISTORY[1:]]})
    systems = [m.content for m in model.seen[-1] if isinstance(m, SystemMessage)]
    assert systems == [*sent, "of the state"]
    seen = []
    system = prompt if isinstance(prompt, SystemMessage) else SystemMessage(prompt)
    given = [SystemMessage("of the state"), *HISTORY[1:]]
    middleware.wrap_model_call(request_of(model, given, system=system), seen.append)
    assert seen[0].system_prompt == (sent[0] if sent else None)  # for what stands behind us


def test_a_schema_for_the_answer_counts_too(model):
    from langchain.agents.structured_output import ToolStrategy

    class Verdict(BaseModel):
        """A verdict."""

        text: str = Field(description="d" * 2_000)

    middleware = HistoryOptimizer(max_tokens=300).as_middleware()
    request = request_of(model, HISTORY, response_format=ToolStrategy(Verdict))
    with pytest.raises(BudgetError):
        middleware.wrap_model_call(request, lambda r: r)


def test_a_tool_that_is_no_schema_counts_as_it_prints(model):
    middleware = HistoryOptimizer(max_tokens=120).as_middleware()
    odd = {"name_of_tool": "x" * 2_000}
    with pytest.raises(BudgetError):
        middleware.wrap_model_call(request_of(model, HISTORY, tools=[odd]), lambda r: r)
