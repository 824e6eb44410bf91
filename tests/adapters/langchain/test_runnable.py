"""The optimizer among LangChain's runnables: pipes, configuration, async, saving, errors."""

from __future__ import annotations

import asyncio
import inspect
import pickle
from operator import itemgetter
from typing import Any

import langchain_core.exceptions
import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.load import dumps, loads
from langchain_core.messages import HumanMessage
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.runnables import ConfigurableField, RunnablePassthrough
from pydantic import Field, ValidationError

from eunoe_langchain import (
    BudgetError,
    HistoryOptimizer,
    approximate_tokens,
    optimize_messages,
    to_messages,
)
from langchain_lists import ai, human, long_history, places, problems, result, same_objects, system

TooLong = getattr(
    langchain_core.exceptions, "ContextOverflowError", ValueError
)  # newer ones have it


class Listening(FakeListChatModel):
    """A model that remembers what it was sent, and may refuse long lists."""

    responses: list[str] = Field(default=["heard"])
    seen: list[Any] = Field(default_factory=list)
    limit: int = 1_000

    def _call(self, messages, *args, **kwargs):
        if len(messages) > self.limit:
            raise TooLong("too long")
        self.seen.append(messages)
        return f"{len(messages)} messages"


def look(q: str) -> str:
    """Look something up in what is known here."""
    return q


HISTORY = long_history()
TIGHT = HistoryOptimizer(max_tokens=60)


@pytest.fixture
def model():
    return Listening(seen=[])


def test_it_stands_before_a_model_and_sends_the_callers_own_objects(model):
    answer = (TIGHT | model).invoke(HISTORY)
    assert answer.content == "4 messages"
    assert places(model.seen[0], HISTORY) == [0, 15, 16, 17]


def test_arguments_of_the_model_are_bound_to_the_model(model):
    assert (TIGHT | model.bind(stop=["x"])).invoke(HISTORY).content == "4 messages"
    with pytest.raises(TypeError, match=r"first step.*model\.bind\(stop="):
        (TIGHT | model).bind(stop=["x"]).invoke(HISTORY)


@pytest.mark.parametrize("call", ["invoke", "ainvoke", "batch", "stream", "explain"])
def test_an_unknown_argument_is_refused_by_every_call(call):
    given = [HISTORY] if call == "batch" else HISTORY

    def use():
        answer = getattr(TIGHT, call)(given, temperature=1)
        return asyncio.run(answer) if call == "ainvoke" else list(answer)

    with pytest.raises(TypeError, match="'temperature'"):
        use()


def test_a_call_may_have_its_own_budget():
    assert same_objects(TIGHT.invoke(HISTORY, max_tokens=10_000), HISTORY)
    assert same_objects(TIGHT.bind(max_tokens=10_000).invoke(HISTORY), HISTORY)
    assert len(TIGHT.invoke(HISTORY, reserve_tokens=35)) == 2


@pytest.mark.parametrize("bad", [{"max_tokens": 0}, {"max_tokens": -5}, {"reserve_tokens": -1}])
def test_a_call_with_an_impossible_budget_is_refused(bad):
    with pytest.raises(ValueError, match="allowed"):
        TIGHT.invoke(HISTORY, **bad)


def test_the_budget_can_be_made_configurable():
    by_request = TIGHT.configurable_fields(max_tokens=ConfigurableField(id="budget"))
    assert len(by_request.invoke(HISTORY)) == 4
    wide = by_request.with_config(configurable={"budget": 10_000})
    assert same_objects(wide.invoke(HISTORY), HISTORY)


def test_it_works_before_and_after_a_prompt(model):
    prompt = ChatPromptTemplate(
        [("system", "be kind"), MessagesPlaceholder("messages"), ("human", "{question}")]
    )
    inside = RunnablePassthrough.assign(
        messages=itemgetter("messages") | TIGHT.bind(reserve_tokens=20)
    )
    for chain in (
        inside | prompt | model,
        TIGHT.on_key("messages") | prompt | model,
        prompt | TIGHT | model,
    ):
        chain.invoke({"messages": HISTORY[1:], "question": "?"})
        assert model.seen[-1][0].content == "be kind"
        assert model.seen[-1][-1].content == "?"
        assert len(model.seen[-1]) < 8


def test_on_key_keeps_the_other_keys():
    out = TIGHT.on_key("messages").invoke({"messages": HISTORY, "question": "?"})
    assert out["question"] == "?"
    assert len(out["messages"]) == 4


def test_every_way_to_call_it_gives_the_same_objects():
    out = TIGHT.invoke(HISTORY)

    async def every_async_way():
        streamed = [chunk async for chunk in TIGHT.astream(HISTORY)]
        return [await TIGHT.ainvoke(HISTORY), *await TIGHT.abatch([HISTORY] * 2), *streamed]

    ways = [
        *asyncio.run(every_async_way()),
        *TIGHT.batch([HISTORY] * 3, {"max_concurrency": 2}),
        *TIGHT.stream(HISTORY),
        optimize_messages(HISTORY, max_tokens=60),
        optimize_messages(max_tokens=60).invoke(HISTORY),
    ]
    assert len(ways) == 10
    assert all(same_objects(out, way) for way in ways)


def test_it_is_one_chunk_in_a_stream_and_the_models_tokens_still_flow(model):
    assert [len(chunk) for chunk in TIGHT.stream(HISTORY)] == [4]
    chunks = list((TIGHT | FakeListChatModel(responses=["abc"])).stream(HISTORY))
    assert "".join(c.content for c in chunks) == "abc"
    assert len([c for c in chunks if c.content]) == 3


def test_a_refusal_of_the_provider_can_fall_back_to_a_smaller_budget(model):
    model.limit = 10
    robust = (TIGHT.bind(max_tokens=10_000) | model).with_fallbacks(
        [TIGHT | model], exceptions_to_handle=(TooLong,)
    )
    assert robust.invoke(HISTORY).content == "4 messages"


def test_traces_show_its_name_and_its_messages():
    class Trace(BaseCallbackHandler):
        def __init__(self):
            self.calls = []

        def on_chain_start(self, serialized, inputs, *, name=None, **kwargs):
            self.calls.append((name, len(inputs)))

        def on_chain_end(self, outputs, **kwargs):
            self.calls.append(("end", len(outputs)))

    trace = Trace()
    TIGHT.invoke(HISTORY, {"callbacks": [trace]})
    assert trace.calls == [("HistoryOptimizer", 18), ("end", 4)]


@pytest.mark.parametrize(
    "value",
    [{"messages": HISTORY}, HumanMessage("x"), None, ("human", "x")],
    ids=lambda v: type(v).__name__,
)
def test_what_it_would_misread_it_refuses(value):
    with pytest.raises(TypeError, match="messages"):
        TIGHT.invoke(value)


def test_strings_and_prompts_are_read_as_a_model_reads_them():
    assert TIGHT.invoke("hello") == to_messages("hello")
    prompt = ChatPromptTemplate([("human", "hi")]).invoke({})
    assert same_objects(TIGHT.invoke(prompt), prompt.to_messages())
    assert TIGHT.invoke([]) == []


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"max_tokens": 0},
        {"max_tokens": 10, "max_token": 10},
        {"max_tokens": 10, "on_overflow": "ignore"},
        {"max_tokens": 10, "policy": "clever"},
        {"max_tokens": 10, "profile": "acme"},
        {"max_tokens": 10, "settings": {"high_tide": 1}},
        {"max_tokens": 10, "settings": {"low_water": 7}},
        {"max_tokens": 10, "reserve_tokens": -1},
        {"max_tokens": 10, "tools": "look"},
    ],
    ids=str,
)
def test_a_wrong_field_is_refused_where_it_is_set(fields):
    with pytest.raises(ValidationError):
        HistoryOptimizer(**fields)


@pytest.mark.parametrize("counter", ["approximate", "exact", approximate_tokens])
def test_tools_that_the_model_is_bound_to_take_their_room(counter):
    plain = HistoryOptimizer(max_tokens=120, token_counter=counter, policy="window")
    bound = plain.model_copy(update={"tools": HistoryOptimizer(max_tokens=1, tools=[look]).tools})
    schemas = bound.explain(HISTORY).tool_tokens
    assert schemas > 20
    room = plain.bind(reserve_tokens=schemas)
    assert same_objects(bound.invoke(HISTORY), room.invoke(HISTORY))
    assert len(bound.invoke(HISTORY)) < len(plain.invoke(HISTORY))
    hook = bound.as_pre_model_hook().invoke({"messages": HISTORY})["llm_input_messages"]
    assert same_objects(hook, bound.invoke(HISTORY))


@pytest.mark.filterwarnings("ignore:The function `loads` is in beta")
def test_it_is_equal_to_its_copy_pickled_or_saved():
    optimizer = HistoryOptimizer(
        max_tokens=100,
        policy="window",
        profile="anthropic",
        settings={"locked_flags": ["full"]},
        tools=[look],
    )
    assert pickle.loads(pickle.dumps(optimizer)) == optimizer  # our own bytes
    optimizer.invoke(HISTORY)
    assert pickle.loads(pickle.dumps(optimizer)) == optimizer
    assert optimizer.model_copy() == optimizer
    text = dumps(optimizer)
    wanted = {"valid_namespaces": ["eunoe_langchain"]}
    if "allowed_objects" in inspect.signature(loads).parameters:
        wanted["allowed_objects"] = [HistoryOptimizer]
    back = loads(text, **wanted)
    assert back == optimizer
    assert same_objects(back.invoke(HISTORY), optimizer.invoke(HISTORY))


def test_a_counter_that_is_no_name_is_not_saved():
    assert '"not_implemented"' in dumps(HistoryOptimizer(max_tokens=60, token_counter=len))


def test_it_has_a_schema_and_a_place_in_the_graph(model):
    assert TIGHT.get_input_jsonschema()["title"] == "HistoryOptimizerInput"
    assert TIGHT.get_output_jsonschema()["type"] == "array"
    assert "HistoryOptimizer" in (TIGHT | model).get_graph().draw_mermaid()
    assert TIGHT.with_config(run_name="memory").get_name() != ""


@pytest.mark.parametrize("overflow", ["raise", "truncate"])
def test_explain_tells_of_the_turn_as_it_is_sent(overflow):
    """Not of one that is kept whole, unless nothing else is left."""
    question = [HumanMessage("look " + "word " * 400)]
    optimizer = HistoryOptimizer(max_tokens=200, on_overflow=overflow)
    report = optimizer.explain(question)
    assert (report.infeasible is not None) is (overflow == "raise")
    if overflow == "truncate":
        assert report.truncated
        assert report.tokens_after <= 200


def test_explain_says_what_became_of_each_message():
    report = TIGHT.explain(HISTORY)
    assert [d.index for d in report.decisions] == list(range(18))
    kept = [d.index for d in report.decisions if d.fate == "kept"]
    assert kept == [0, 15, 16, 17]
    assert report.tokens_after <= report.budget == 60
    assert "dropped" in report.explain()


def test_explain_reports_an_overrun_instead_of_raising():
    huge = [system("s " * 500), human("q")]
    report = TIGHT.explain(huge)
    assert report.infeasible is not None
    assert report.infeasible.needed > report.infeasible.allowed
    with pytest.raises(BudgetError) as caught:
        TIGHT.invoke(huge)
    assert caught.value.allowed == 60
    assert caught.value.needed > 60


def test_an_overrun_can_be_kept_or_cut():
    huge = [system("sys"), human("q " * 500)]
    keep = HistoryOptimizer(max_tokens=60, on_overflow="keep")
    assert same_objects(keep.invoke(huge), huge)
    cut = HistoryOptimizer(max_tokens=60, on_overflow="truncate")
    out = cut.invoke(huge)
    assert out[0] is huge[0]
    assert 0 < len(out[1].content) < 200
    assert out[1].response_metadata["eunoe"]


def test_a_hook_for_react_agents_writes_the_view_beside_the_state():
    hook = TIGHT.as_pre_model_hook()
    update = hook.invoke({"messages": HISTORY})
    assert list(update) == ["llm_input_messages"]
    assert places(update["llm_input_messages"], HISTORY) == [0, 15, 16, 17]
    again = asyncio.run(hook.ainvoke({"messages": HISTORY}))
    assert same_objects(again["llm_input_messages"], update["llm_input_messages"])


def test_a_hook_takes_any_shape_of_state():
    class State:
        messages = HISTORY

    hook = TIGHT.as_pre_model_hook()
    for state in (HISTORY, State(), {"messages": tuple(HISTORY)}):
        assert len(hook.invoke(state)["llm_input_messages"]) == 4


@pytest.mark.parametrize("used", [False, True])
def test_a_hook_works_after_it_was_pickled(used):
    hook = HistoryOptimizer(max_tokens=60, policy="window").as_pre_model_hook()
    before = hook.invoke({"messages": HISTORY}) if used else None
    back = pickle.loads(pickle.dumps(hook))  # our own bytes
    assert back.get_name() == hook.get_name() == "HistoryOptimizerHook"
    update = back.invoke({"messages": HISTORY})
    assert update == (before or hook.invoke({"messages": HISTORY}))
    assert 0 < len(update["llm_input_messages"]) < len(HISTORY)
    assert asyncio.run(back.ainvoke({"messages": HISTORY})) == update


def test_one_optimizer_serves_many_threads():
    chats = [[*long_history(turns), human(f"question {turns}")] for turns in range(1, 13)]
    one_by_one = [TIGHT.invoke(chat) for chat in chats]
    together = TIGHT.batch(chats, {"max_concurrency": 6})
    assert all(same_objects(a, b) for a, b in zip(one_by_one, together, strict=True))


def test_tool_calls_of_the_running_turn_stay(model):
    chat = [*HISTORY, ai("", "c1"), result("c1")]
    assert TIGHT.invoke(chat)[-3:] == chat[-3:]


def test_a_fault_of_ours_lets_the_chat_go_on_and_says_so(caplog):
    odd = ai("a", additional_kwargs={"tool_outputs": 7})
    chat = [*HISTORY, odd, human("?")]
    assert same_objects(TIGHT.invoke(chat), chat)
    assert "unchanged" in caplog.text
    assert "TypeError" in TIGHT.explain(chat).warnings[0]


@pytest.mark.parametrize("token_counter", ["approximate", len])
def test_a_deadline_that_is_over_sends_the_newest_turns_and_says_so(token_counter):
    chat = [human("the door code is 4711"), ai("noted")]
    for k in range(40):
        chat += [human(f"note {k} " + "word " * 30), ai("ok")]
    chat.append(human("what is the door code?"))
    budget = 20 if token_counter is len else 300
    fields = {"max_tokens": budget, "token_counter": token_counter, "policy": "relevance"}
    report = HistoryOptimizer(deadline=0, **fields).explain(chat)
    assert "deadline passed" in report.warnings[0]
    sent = HistoryOptimizer(deadline=0, **fields).invoke(chat)
    assert sent[-1] is chat[-1]
    assert problems(sent) == []
    assert chat[0] not in sent
    in_time = HistoryOptimizer(deadline=60, **fields)
    assert "deadline" not in str(in_time.explain(chat).warnings)
    assert in_time.invoke(chat)[0] is chat[0]
    with pytest.raises(ValueError, match="deadline"):
        HistoryOptimizer(max_tokens=10, deadline=-1)
