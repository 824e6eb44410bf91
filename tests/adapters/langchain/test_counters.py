"""Counters in every form that users of LangChain have them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pytest
from hypothesis import given
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage
from langchain_core.messages.utils import count_tokens_approximately
from pydantic import Field

from eunoe_langchain import (
    BudgetError,
    CounterError,
    HistoryOptimizer,
    approximate_tokens,
    as_list_counter,
)
from langchain_lists import WORDS, ai, human, long_history, result, same_objects, system


class TenEach(FakeListChatModel):
    """A model that counts ten tokens a message and three a list."""

    responses: list[str] = Field(default=["x"])

    def get_num_tokens_from_messages(self, messages, tools=None):
        return 10 * len(messages) + 3


def count_list(messages: list[BaseMessage]) -> int:
    return 10 * len(messages)


def count_sequence(messages: Sequence[BaseMessage]) -> int:
    return 10 * len(messages)


def count_one(message: BaseMessage) -> int:
    return 10 + 0 * len(message.content)


def count_any_one(x: AnyMessage) -> int:
    return 10 + 0 * len(x.content)


def count_one_scaled(x: BaseMessage, *, factor: int) -> int:
    return factor + 0 * len(x.content)


class CountsOne:
    """A callable object for one message."""

    def __call__(self, x: BaseMessage) -> int:
        return 10 + 0 * len(x.content)


THREE = [human("a"), ai("b"), human("c")]


@pytest.mark.parametrize(
    ("counter", "expected"),
    [
        pytest.param(count_list, 30, id="list"),
        pytest.param(count_sequence, 30, id="sequence"),
        pytest.param(count_one, 30, id="one message, postponed annotations"),
        pytest.param(count_any_one, 30, id="one of the union of messages"),
        pytest.param(lambda message: 10 + 0 * len(message.content), 30, id="one, by its name"),
        pytest.param(lambda messages: 10 * len(messages), 30, id="list, by its name"),
        pytest.param(CountsOne(), 30, id="object"),
        pytest.param(partial(count_one_scaled, factor=10), 30, id="partial"),
        pytest.param(len, 3, id="len"),
        pytest.param(TenEach(), 33, id="model"),
        pytest.param("approximate", approximate_tokens(THREE), id="approximate"),
        pytest.param("exact", 3 * 5 + 3, id="exact"),
        pytest.param("o200k", 3 * 5 + 3, id="family"),
    ],
)
def test_every_form_becomes_a_counter_of_lists(counter, expected):
    assert as_list_counter(counter)(THREE) == expected


@pytest.mark.parametrize("counter", ["nearly", 7, None])
def test_what_is_no_counter_is_refused_where_it_is_set(counter):
    with pytest.raises(CounterError, match="allowed"):
        as_list_counter(counter)
    with pytest.raises(ValueError, match="allowed"):
        HistoryOptimizer(max_tokens=10, token_counter=counter)


@pytest.mark.parametrize("answer", [1.5, "3", None, -1, True])
def test_an_answer_that_is_no_whole_number_is_refused(answer):
    with pytest.raises(CounterError, match="whole number"):
        as_list_counter(lambda messages: answer)(THREE)


def faulty(messages):
    raise LookupError("no vocabulary")


def fails_later(messages):
    """Counts short lists and breaks at long ones."""
    if len(messages) > 3:
        raise OSError("gone")
    return 10 * len(messages)


@pytest.mark.parametrize(
    "counter", [faulty, fails_later, lambda messages: None, lambda messages: -1], ids=str
)
def test_a_counter_that_fails_gives_way_to_the_approximate_one(counter):
    history = long_history()
    plain = HistoryOptimizer(max_tokens=60)
    events = []

    class Watching:
        def observe(self, event):
            events.append(event)

    optimizer = HistoryOptimizer(max_tokens=60, token_counter=counter, observer=Watching())
    assert same_objects(optimizer.invoke(history), plain.invoke(history))
    report = optimizer.explain(history)
    assert report.tokens_after == plain.explain(history).tokens_after
    assert any("counted approximately" in warning for warning in report.warnings)
    assert len(events) == 1
    assert "counted approximately" in str(events[0])


@given(WORDS.filter(str.isascii))
def test_approximate_agrees_with_langchain_on_plain_text(text):
    messages = [system(text), human(text, name="ann"), ai(text), result("c1", text)]
    assert approximate_tokens(messages) == count_tokens_approximately(messages)


def test_approximate_counts_no_base64_and_every_argument_once():
    image = {"type": "input_image", "image_url": "data:image/png;base64," + "A" * 400_000}
    assert approximate_tokens([human([{"type": "text", "text": "look"}, image])]) < 800
    use = {"type": "tool_use", "id": "c1", "name": "look", "input": {"q": "x" * 4_000}}
    call = ai([{"type": "text", "text": "hi"}, use], "c1", args={"q": "x" * 4_000})
    assert 1_000 < approximate_tokens([call]) < 1_100


def test_approximate_does_not_take_other_scripts_for_english():
    assert approximate_tokens([human("水" * 100)]) > 90
    assert approximate_tokens([human("слово" * 20)]) > 50


@pytest.mark.parametrize(
    "counter",
    [count_list, count_sequence, count_one, TenEach(), len, "approximate", "exact", "claude"],
    ids=str,
)
def test_the_result_fits_by_the_callers_own_count(counter):
    count, history = as_list_counter(counter), long_history()
    allowed = count(history) * 2 // 3
    out = HistoryOptimizer(max_tokens=allowed, token_counter=counter).invoke(history)
    assert count(out) <= allowed
    assert 2 <= len(out) < len(history)


def test_a_count_of_messages_is_a_budget_of_messages():
    history = long_history()
    assert same_objects(
        HistoryOptimizer(max_tokens=len(history), token_counter=len).invoke(history), history
    )
    assert len(HistoryOptimizer(max_tokens=5, token_counter=len).invoke(history)) <= 5


def test_a_counter_that_is_no_sum_of_its_parts_is_obeyed():
    def superlinear(messages: list[BaseMessage]) -> int:
        return len(messages) ** 2

    out = HistoryOptimizer(max_tokens=30, token_counter=superlinear).invoke(long_history())
    assert 2 <= len(out) <= 5


def test_a_counter_that_never_fits_is_a_budget_error():
    def stubborn(messages: list[BaseMessage]) -> int:
        return 1_000

    with pytest.raises(BudgetError) as caught:
        HistoryOptimizer(max_tokens=30, token_counter=stubborn).invoke(long_history())
    assert caught.value.needed >= 1_000
    assert caught.value.allowed == 30


def test_a_counter_may_refuse_an_empty_list():
    def picky(messages: list[BaseMessage]) -> int:
        return 10 * len(messages) + 0 * len(messages[0].content)

    assert len(HistoryOptimizer(max_tokens=50, token_counter=picky).invoke(long_history())) <= 5


def test_a_callers_counter_counts_tools_stubs_and_new_text():
    def words(messages: list[BaseMessage]) -> int:
        return sum(2 + len(str(m.content).split()) for m in messages)

    chat = [*long_history()[:-1], human("q"), ai("", "c1"), human("is my dog there, or not?")]
    tools = [{"type": "function", "function": {"name": "look", "description": "d " * 40}}]
    optimizer = HistoryOptimizer(max_tokens=150, token_counter=words, settings={"recall": "always"})
    for schemas in ([], tools):
        out = optimizer.plan_request(chat, tools=schemas)
        assert words(out) + 40 * len(schemas) <= 150
        assert out[-1] is chat[-1]
    huge = [human("q"), ai("", "c1"), result("c1", "word " * 900)]
    cut = HistoryOptimizer(max_tokens=80, token_counter=words).invoke(huge)
    assert 10 < words(cut) <= 80


def test_a_counter_is_asked_once_for_each_content():
    asked = []

    def careful(messages: list[BaseMessage]) -> int:
        asked.extend(messages)
        return 10 * len(messages)

    optimizer = HistoryOptimizer(max_tokens=55, token_counter=careful)
    out = optimizer.invoke(long_history())
    asked.clear()
    assert len(optimizer.invoke(long_history())) == len(out)
    assert len(asked) <= len(out) + 2


class Slotted:
    """A counter that cannot be watched for its end."""

    __slots__ = ()

    def __call__(self, messages: Sequence[BaseMessage]) -> int:
        return 10 * len(messages)


def test_counters_of_odd_kinds_are_read():
    assert as_list_counter(Slotted())(THREE) == 30
    assert len(HistoryOptimizer(max_tokens=55, token_counter=Slotted()).invoke(long_history())) <= 5
    with pytest.raises(CounterError, match="no argument"):
        as_list_counter(lambda: 7)(THREE)

    def unknown_name(x: AnUnknownMessage) -> int:  # noqa: F821  # known to a type checker alone
        return 10 + 0 * len(x.content)

    assert as_list_counter(unknown_name)(THREE) == 30
    assert as_list_counter(dict)  # a built-in without a signature takes a list


def test_an_ai_message_without_text_still_costs_its_calls():
    assert approximate_tokens(
        [AIMessage("", tool_calls=ai("", "c1").tool_calls)]
    ) > approximate_tokens([HumanMessage("")])


def test_every_id_that_a_message_of_results_answers_is_counted():
    blocks = [{"type": "tool_result", "tool_use_id": c * 400, "content": "x"} for c in "ab"]
    one, two = (HumanMessage(content=blocks[:n]) for n in (1, 2))
    assert approximate_tokens([two]) - approximate_tokens([one]) >= 100
