"""Stored histories: read through the optimizer, written whole."""

from __future__ import annotations

import asyncio
import inspect
import warnings

import pytest
from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import HumanMessage
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from pydantic import Field

from eunoe_langchain import HistoryOptimizer, OptimizedHistory, wrap_history_factory
from langchain_lists import human, long_history, places, same_objects

TIGHT = HistoryOptimizer(max_tokens=60)


class Listening(FakeListChatModel):
    responses: list[str] = Field(default=["a " * 20])
    seen: list = Field(default_factory=list)

    def _call(self, messages, *args, **kwargs):
        self.seen.append(messages)
        return self.responses[0]


class Shelf(BaseChatMessageHistory):
    """A history in a list."""

    def __init__(self):
        self.messages = []

    def add_messages(self, messages):
        self.messages.extend(messages)

    def clear(self):
        self.messages.clear()


@pytest.fixture
def shelves():
    return {}


@pytest.fixture
def factory(shelves):
    def by_session(session_id: str) -> Shelf:
        return shelves.setdefault(session_id, Shelf())

    return by_session


def with_history(*args, **kwargs):
    from langchain_core.runnables.history import RunnableWithMessageHistory

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # deprecated, and still in wide use
        return RunnableWithMessageHistory(*args, **kwargs)


def ask(chat, value, session="1"):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return chat.invoke(value, {"configurable": {"session_id": session}})


def test_in_the_chain_the_store_stays_whole(factory, shelves):
    model = Listening(seen=[])
    chat = with_history(TIGHT | model, factory)
    for _ in range(6):
        ask(chat, [HumanMessage("q " * 20)])
    assert len(shelves["1"].messages) == 12
    assert len(model.seen[-1]) < 11


def test_a_wrapped_factory_shows_the_view_and_keeps_the_store_whole(factory, shelves):
    model = Listening(seen=[])
    prompt = ChatPromptTemplate([MessagesPlaceholder("history"), ("human", "{q}")])
    chat = with_history(
        prompt | model,
        wrap_history_factory(factory, TIGHT),
        input_messages_key="q",
        history_messages_key="history",
    )
    for _ in range(6):
        ask(chat, {"q": "q " * 20})
    assert len(shelves["1"].messages) == 12
    assert len(model.seen[-1]) < 11


def test_without_a_history_key_nothing_is_written_twice(factory, shelves):
    model = Listening(seen=[])
    chat = with_history(model, wrap_history_factory(factory, TIGHT))
    for k in range(9):
        ask(chat, [human(f"{k} " * 20)])
        assert len(shelves["1"].messages) == 2 * (k + 1)
    assert [m.content.split()[0] for m in shelves["1"].messages[::2]] == [str(k) for k in range(9)]
    assert len(model.seen[-1]) < 9


def test_the_parameter_names_of_the_factory_are_kept(shelves):
    def by_user(user_id: str, thread: str = "main") -> Shelf:
        return shelves.setdefault((user_id, thread), Shelf())

    wrapped = wrap_history_factory(by_user, TIGHT)
    assert list(inspect.signature(wrapped).parameters) == ["user_id", "thread"]
    assert wrapped.__name__ == "by_user"
    assert isinstance(wrapped("ann"), OptimizedHistory)


def test_reading_and_writing_work_in_both_worlds(factory):
    store = factory("1")
    store.add_messages(long_history())
    view = OptimizedHistory(store, TIGHT)

    async def use():
        first = await view.aget_messages()
        await view.aadd_messages([human("one more?")])
        return first, await view.aget_messages()

    first, second = asyncio.run(use())
    assert places(first, store.messages) == [0, 15, 16, 17]
    assert second[-1] is store.messages[-1]
    view.add_messages([human("and more?")])
    assert view.messages[-1] is store.messages[-1]
    assert same_objects(view.messages, view.messages)
    asyncio.run(view.aclear())
    assert view.messages == store.messages == []
    view.add_messages([human("new")])
    view.clear()
    assert view.messages == []
