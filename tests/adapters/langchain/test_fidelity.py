"""What comes back is the caller's own: the same objects, untouched, in order, at most once."""

from __future__ import annotations

import copy
import itertools
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    HumanMessage,
    HumanMessageChunk,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)

from eunoe_langchain import BudgetError, HistoryOptimizer, approximate_tokens
from langchain_lists import (
    ai,
    frozen,
    histories,
    human,
    long_history,
    places,
    problems,
    result,
    same_objects,
    system,
)

PROFILES = ("openai", "responses", "anthropic", "gemini", "deepseek", "permissive")


def fit(messages, max_tokens, **fields):
    return HistoryOptimizer(max_tokens=max_tokens, **fields).invoke(messages)


def test_twins_are_told_apart_by_their_place():
    yes = [human("yes"), ai("and?"), human("yes"), ai("well"), human("yes")]
    out = fit([*yes[:4], *long_history()[1:], yes[4]], 60)
    assert out[-1] is yes[4]
    assert same_objects(fit(yes, 1_000), yes)


def test_fields_that_no_provider_knows_survive():
    answer = AIMessage(
        "a " * 10,
        id="run-1",
        additional_kwargs={"mine": [1]},
        response_metadata={"model_name": "x"},
        usage_metadata={"input_tokens": 9_000, "output_tokens": 1, "total_tokens": 9_001},
    )
    chat = [*long_history()[:-1], human("q"), answer, human("now?")]
    out = fit(chat, 60)
    assert any(m is answer for m in out)


def test_an_artifact_that_cannot_be_copied_is_no_hindrance():
    locked = result("c1", "x " * 10, artifact=threading.Lock())
    chat = [*long_history(), ai("", "c1"), locked]
    assert fit(chat, 80)[-1] is locked


def test_chunks_and_subclasses_are_what_their_bases_are():
    class Mine(HumanMessage):
        mood: str = "calm"

    chat = [
        SystemMessage("sys"),
        *[
            m
            for _ in range(8)
            for m in (HumanMessageChunk(content="q " * 20), AIMessageChunk(content="a " * 20))
        ],
        Mine("now?"),
    ]
    out = fit(chat, 60)
    assert places(out, chat) == [0, 15, 16, 17]
    assert type(out[-1]) is Mine


def test_messages_of_unknown_kinds_are_opaque_and_kept():
    class Oracle(BaseMessage):
        type: str = "oracle"

    chat = [human("q"), Oracle(content="o"), ChatMessage(role="critic", content="c"), human("?")]
    assert same_objects(fit(chat, 1_000), chat)


def test_orders_to_a_message_store_are_not_sent():
    chat = [human("q"), RemoveMessage(id="7"), ai("a"), human("?")]
    optimizer = HistoryOptimizer(max_tokens=1_000)
    assert places(optimizer.invoke(chat), chat) == [0, 2, 3]
    report = optimizer.explain(chat)
    assert [d.index for d in report.decisions] == [0, 1, 2, 3]
    assert [str(d.fate) for d in report.decisions] == ["kept", "dropped", "kept", "kept"]
    assert any("RemoveMessage" in line for line in report.mended)


def test_parallel_calls_stand_or_fall_together():
    chat = [human("q"), ai("", "c1", "c2", "c3"), *[result(c) for c in ("c1", "c2", "c3")], ai("a")]
    for budget in range(20, 120, 4):
        out = fit([*chat, human("?")], budget)
        assert problems(out) == []


def test_a_clipped_result_keeps_everything_but_its_text():
    big = result("c1", "word " * 2_000, id="t1", name="look", status="error", artifact={"k": 1})
    chat = [human("q"), ai("", "c1"), big]
    before = frozen(chat)
    out = fit(chat, 300, on_overflow="truncate")
    assert places(out[:2], chat) == [0, 1]
    cut = out[2]
    assert isinstance(cut, ToolMessage)
    assert cut is not big
    assert len(cut.content) < len(big.content)
    assert (cut.id, cut.name, cut.status, cut.tool_call_id) == ("t1", "look", "error", "c1")
    assert cut.artifact is big.artifact
    assert cut.response_metadata["eunoe"]["fate"] in ("gist", "stub", "kept")
    assert frozen(chat) == before
    cut.additional_kwargs["new"] = 1
    cut.response_metadata["new"] = 1
    assert frozen(chat) == before
    assert approximate_tokens(out) <= 300


def test_half_a_character_is_mended_in_a_copy_wherever_it_stands():
    call = ai("\ud83d", "c1", args={"q": "\ud83d"}, additional_kwargs={"reasoning": {"id": "rs"}})
    chat = [human("see \ud83d this"), call, result("c1")]
    before = frozen(chat)
    out = fit(chat, 1_000)
    assert out[0].content == "see \ufffd this"
    assert out[1].content == "\ufffd"
    assert out[1].tool_calls[0]["args"] == {"q": "\ufffd"}
    assert out[2] is chat[2]
    assert frozen(chat) == before


def test_a_missing_result_is_a_tool_message_that_says_so():
    chat = [human("q"), ai("", "c1"), human("are you there?")]
    out = fit(chat, 1_000)
    assert places(out, chat) == [0, 1, None, 2]
    assert isinstance(out[2], ToolMessage)
    assert (out[2].tool_call_id, out[2].status) == ("c1", "error")
    assert same_objects(fit(out, 1_000), out)


def test_results_without_calls_are_not_quoted_where_there_is_no_room():
    chat = [system("a."), human("a."), *[result(f"c{k}", "a.") for k in range(3)]]
    allowed = approximate_tokens(chat)
    out = fit(chat, allowed)
    assert approximate_tokens(out) <= allowed
    assert same_objects(out[:1], chat[:1])
    assert any(m is chat[1] for m in out)


def test_new_text_is_a_marked_user_message_with_an_id_that_repeats():
    chat = [system("sys"), human("My dog is called Bartholomew.", id="1"), ai("Noted.")]
    for k in range(30):
        chat += [human(f"Tell me fact {k} about the sea."), ai(f"Wave number {k} is salty. " * 6)]
    chat += [human("What is the name of my dog, Bartholomew or else?")]
    optimizer = HistoryOptimizer(max_tokens=400, settings={"recall": "always"})
    out = optimizer.invoke(chat)
    new = [m for m, place in zip(out, places(out, chat), strict=True) if place is None]
    assert new
    assert all(type(m) is HumanMessage and m.additional_kwargs["lc_source"] for m in new)
    assert any("Bartholomew" in str(m.content) for m in new)
    assert [m.id for m in optimizer.invoke(chat)] == [m.id for m in out]
    assert same_objects(optimizer.invoke(out), out)


def test_a_message_that_a_program_wrote_does_not_open_a_turn():
    task = human("do it " * 5)
    loop = [m for k in range(3) for m in (ai("", f"c{k}"), result(f"c{k}"))]
    note = human("task 7 finished", additional_kwargs={"lc_source": "async_subagent"})
    chat = [*long_history()[:-1], task, *loop, note]
    out = fit(chat, 140)
    assert same_objects(out[-8:], [task, *loop, note])


def test_ids_in_the_form_of_another_provider_are_left_to_the_integration():
    step = [ai("", "call_with_a_long_id"), result("call_with_a_long_id"), ai("so")]
    chat = [human("q"), *step, human("?")]
    assert same_objects(fit(chat, 1_000, profile="mistral"), chat)


@pytest.mark.parametrize("words", [[], [{"type": "text", "text": "go on"}]])
@pytest.mark.parametrize("order", ["ab", "ba"])
def test_results_in_user_messages_stay_with_their_calls(order, words):
    def step(k):
        use = [{"type": "tool_use", "id": f"{c}{k}", "name": "look", "input": {}} for c in "ab"]
        got = [
            {"type": "tool_result", "tool_use_id": f"{c}{k}", "content": "x " * 20} for c in order
        ]
        return [human(f"q{k}"), AIMessage(use), human([*got, *words]), ai("so")]

    chat = [m for k in range(6) for m in step(k)] + [human("?")]
    assert same_objects(fit(chat, 10_000, profile="anthropic"), chat)
    for budget in range(60, 600, 60):
        places_left = places(fit(chat, budget, profile="anthropic"), chat)
        assert None not in places_left
        assert [k + 1 for k in places_left if k % 4 == 1] == [k for k in places_left if k % 4 == 2]


@pytest.mark.parametrize("ids", ["a", "ab"])
@pytest.mark.parametrize("overflow", ["raise", "truncate"])
def test_results_in_user_messages_of_a_running_turn_are_shortened_in_their_blocks(ids, overflow):
    def step(k, text):
        use = [{"type": "tool_use", "id": f"{c}{k}", "name": "look", "input": {}} for c in ids]
        got = [{"type": "tool_result", "tool_use_id": f"{c}{k}", "content": text} for c in ids]
        return [AIMessage(use), human(got)]

    words = "many words " * 100
    chat = [human("look at it"), *(m for k in range(5) for m in step(k, words))]
    optimizer = HistoryOptimizer(max_tokens=1_100, profile="anthropic", on_overflow=overflow)
    before = copy.deepcopy(chat)
    out = optimizer.invoke(chat)
    assert chat == before
    assert approximate_tokens(out) <= 1_100
    assert same_objects([out[0], *out[1::2]], [chat[0], *chat[1::2]])
    assert [type(m) for m in out] == [type(m) for m in chat]
    shortened = [m for m, own in zip(out, chat, strict=True) if m is not own]
    assert len(shortened) >= 3
    for message in shortened:
        blocks = message.content
        assert [b["tool_use_id"][0] for b in blocks] == list(ids)
        assert "elided" in str(blocks[0]) or "left out" in str(blocks[0])
        assert all(b["content"] == "" for b in blocks[1:])
    report = optimizer.explain(chat)
    assert report.tokens_after <= 1_100
    assert report.truncated


def test_a_picture_in_a_result_block_has_its_price():
    shown = {"type": "image", "source": {"type": "base64", "data": "QUJD" * 500}}
    use = [{"type": "tool_use", "id": "a", "name": "look", "input": {}}]
    got = [{"type": "tool_result", "tool_use_id": "a", "content": [shown]}]
    size = approximate_tokens([human("q"), AIMessage(use), human(got)])
    assert 765 < size < 820


def test_flags_in_messages_are_text_unless_asked_for():
    chat = [human("!pin remember the milk"), ai("ok"), human("!full ?")]
    assert same_objects(fit(chat, 1_000), chat)


def test_a_system_message_is_never_lost_wherever_it_stands():
    late = system("answer in French")
    developer = ChatMessage(role="developer", content="never reveal")
    history = long_history()
    chat = [developer, *history[1:9], late, *history[9:]]
    for profile in ("openai", "anthropic"):
        out = fit(chat, 80, profile=profile)
        assert sum(m is late or m is developer for m in out) == 2
    assert places(fit(chat, 80, profile="anthropic"), chat)[:2] == [0, 9]


@pytest.mark.parametrize("on_overflow", ["raise", "keep", "truncate"])
@pytest.mark.parametrize(
    "chat",
    [
        pytest.param([human("q")], id="one"),
        pytest.param([system("s " * 400), human("q")], id="large system"),
        pytest.param([system("s"), human("q " * 400)], id="large question"),
        pytest.param([human("q"), ai("", "c1"), result("c1", "r " * 400)], id="large result"),
        pytest.param([system("s")], id="system alone"),
        pytest.param([ai("hello"), human("q")], id="begins with an answer"),
    ],
)
def test_the_result_is_never_empty_or_headless(chat, on_overflow):
    try:
        out = fit(chat, 50, on_overflow=on_overflow)
    except BudgetError:
        assert on_overflow == "raise"
        return
    assert any(not isinstance(m, SystemMessage) for m in out) or len(chat) == 1
    if len(chat) > 1:
        assert any(isinstance(m, HumanMessage) for m in out)


@pytest.mark.property
@settings(max_examples=60, deadline=None)
@given(histories(), st.floats(0.2, 1.2), st.sampled_from(PROFILES))
def test_kept_messages_are_the_callers_in_order_and_untouched(chat, share, profile):
    before = frozen(chat)
    optimizer = HistoryOptimizer(
        max_tokens=max(10, int(approximate_tokens(chat) * share)), profile=profile
    )
    try:
        out = optimizer.invoke(chat)
    except BudgetError as error:
        assert error.needed > error.allowed  # noqa: PT017  # either outcome is right
        return
    finally:
        assert frozen(chat) == before
    kept = [place for place in places(out, chat) if place is not None]
    body = [place for place in kept if not isinstance(chat[place], SystemMessage)]
    assert body == sorted(set(body))
    assert problems(out) == []
    assert out[-1] is chat[-1]
    assert approximate_tokens(out) <= optimizer.max_tokens
    systems = [i for i, m in enumerate(chat) if isinstance(m, SystemMessage)]
    assert [i for i in kept if i in systems] == systems
    assert same_objects(optimizer.invoke(chat), out) or places(out, chat).count(None)
    assert same_objects(optimizer.invoke(out), out)


@pytest.mark.property
@settings(max_examples=60, deadline=None)
@given(histories(broken=True), st.floats(0.3, 1.5))
def test_a_poisoned_history_is_mended_without_touching_it(chat, share):
    before = frozen(chat)
    optimizer = HistoryOptimizer(
        max_tokens=max(10, int(approximate_tokens(chat) * share)), on_overflow="truncate"
    )
    out = optimizer.invoke(chat)
    assert frozen(chat) == before
    assert bool(out) == bool(chat)
    found = [p for p in problems(out) if "user" not in p]
    assert found == []
    if optimizer.explain(chat).infeasible is None:
        again = optimizer.invoke(out)
        assert [m.content for m in again] == [m.content for m in out]


@pytest.mark.property
@settings(max_examples=40, deadline=None)
@given(histories(), st.floats(0.3, 1.2), st.sampled_from(["mistral", "template"]))
def test_where_roles_must_alternate_they_do_and_nothing_is_touched(chat, share, profile):
    before = frozen(chat)
    budget = max(10, int(approximate_tokens(chat) * share))
    out = fit(chat, budget, profile=profile, on_overflow="truncate")
    assert frozen(chat) == before
    visible = [m.type for m in out if m.type in ("human", "ai") and not getattr(m, "tool_calls", 0)]
    assert all(a != b for a, b in itertools.pairwise(visible))
    assert problems(out) == []
    assert str(out[-1].text).endswith(str(chat[-1].content))
    again = fit(out, budget, profile=profile, on_overflow="truncate")
    assert [m.content for m in again] == [m.content for m in out]


@pytest.mark.property
@settings(max_examples=40, deadline=None)
@given(histories())
def test_under_the_budget_a_legal_list_comes_back_object_by_object(chat):
    out = HistoryOptimizer(max_tokens=10 * approximate_tokens(chat) + 100).invoke(chat)
    assert same_objects(out, chat)


@pytest.mark.property
@settings(max_examples=20, deadline=None)
@given(histories(), st.integers(40, 300))
def test_equal_lists_give_equal_results_whoever_asks(chat, budget):
    def run(messages):
        optimizer = HistoryOptimizer(max_tokens=budget, on_overflow="truncate")
        return [(type(m), m.content, m.id) for m in optimizer.invoke(messages)]

    assert run(chat) == run(copy.deepcopy(chat))
