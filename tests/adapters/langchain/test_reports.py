"""Twelve lists on which other history reducers failed, and what they must become."""

from __future__ import annotations

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

from eunoe_langchain import BudgetError, HistoryOptimizer, approximate_tokens, as_list_counter
from eunoe_langchain.reasoning import without_old_reasoning
from langchain_lists import ai, frozen, human, places, problems, result, same_objects, system


def fit(messages, max_tokens, **fields):
    return HistoryOptimizer(max_tokens=max_tokens, **fields).invoke(messages)


def test_1_a_result_never_stands_without_its_call():
    chat = [human("q1"), ai("", "c1"), result("c1"), human("q2"), ai("a"), human("q3"), ai("a")]
    assert places(fit(chat, 5, token_counter=len), chat) == [3, 4, 5, 6]
    assert places(fit(chat, 30), chat) in ([3, 4, 5, 6], [5, 6])


def test_2_a_mixed_run_of_calls_is_paired_again():
    chat = [human("q"), ai("", "a"), ai("", "b"), result("a"), result("b"), human("next")]
    assert places(fit(chat, 1_000), chat) == [0, 1, 3, 2, 4, 5]
    for budget in range(8, 60, 4):
        try:
            out = fit(chat, budget)
        except BudgetError:
            continue
        assert problems(out) == []


def test_3_a_long_tool_loop_keeps_its_task():
    chat = [human("build X, never touch prod")]
    for k in range(60):
        chat += [ai("", f"c{k}", args={"path": f"src/{k}.py"}), result(f"c{k}", "line " * 80)]
    out = fit(chat, 3_000)
    assert out[0] is chat[0]
    assert same_objects(out[-2:], chat[-2:])
    assert problems(out) == []
    assert approximate_tokens(out) <= 3_000
    assert not any("too long" in str(m.content) for m in out)


def thinking(call, thought="hm " * 10):
    return AIMessage(
        [
            {"type": "thinking", "thinking": thought, "signature": "s"},
            {"type": "tool_use", "id": call, "name": "look", "input": {}},
        ],
        tool_calls=[{"name": "look", "args": {}, "id": call}],
        response_metadata={"model_provider": "anthropic"},
    )


def test_4_reasoning_never_parts_from_its_call():
    second = AIMessage(
        [{"type": "tool_use", "id": "c2", "name": "look", "input": {}}],
        tool_calls=[{"name": "look", "args": {}, "id": "c2"}],
    )
    chat = [human("q"), thinking("c1"), result("c1"), second, result("c2")]
    for budget in (20, 40, 60, 1_000):
        try:
            assert same_objects(fit(chat, budget), chat)
        except BudgetError as error:
            assert error.needed > budget  # noqa: PT017  # either outcome is right
    rs = AIMessage(
        [
            {"type": "reasoning", "id": "rs_1", "summary": []},
            {
                "type": "function_call",
                "id": "fc_1",
                "call_id": "c1",
                "name": "look",
                "arguments": "{}",
            },
        ],
        tool_calls=[{"name": "look", "args": {}, "id": "c1"}],
    )
    chat = [human("q"), rs, result("c1"), human("next " * 5)]
    for budget in range(20, 80, 10):
        out = fit(chat, budget)
        assert any(m is rs for m in out) == any(m is chat[2] for m in out)


def test_4b_old_reasoning_can_be_left_out_once_something_was_cut():
    chat = []
    for k in range(9):
        chat += [human(f"q{k} " * 6), thinking(f"c{k}"), result(f"c{k}")]
        chat += [AIMessage([{"type": "thinking", "thinking": "so"}])]
    chat += [human("now"), thinking("x"), result("x")]
    before = frozen(chat)
    whole = fit(chat, 10_000, reasoning="strip_before_cut")
    assert same_objects(whole, chat)
    out = fit(chat, 200, reasoning="strip_before_cut")
    assert len(out) < len(chat)
    assert same_objects(out[-3:], chat[-3:])
    kinds = [[b["type"] for b in m.content] for m in out[:-3] if isinstance(m, AIMessage)]
    assert kinds
    assert kinds == [["tool_use"], ["thinking"]] * (len(kinds) // 2)
    stripped = next(m for m in out if isinstance(m, AIMessage))
    assert stripped.response_metadata["eunoe"]["reasoning"] == "stripped"
    assert stripped.tool_calls
    assert frozen(chat) == before
    assert problems(out) == []


@pytest.mark.parametrize("counter", ["approximate", "exact", "claude", approximate_tokens], ids=str)
def test_4d_what_was_stripped_is_not_counted(counter):
    chat = [system("rules")]
    for k in range(8):
        chat += [human(f"q{k}"), thinking(f"c{k}", "hm " * 30), result(f"c{k}")]
    chat += [human("now"), thinking("x"), result("x")]
    count = as_list_counter(counter)
    sent, tokens, most = {}, {}, count(chat) * 2 // 3
    for reasoning in ("keep", "strip_before_cut"):
        optimizer = HistoryOptimizer(max_tokens=most, token_counter=counter, reasoning=reasoning)
        sent[reasoning] = optimizer.invoke(chat)
        tokens[reasoning] = optimizer.explain(chat).tokens_after
    less = count(sent["keep"]) - count(sent["strip_before_cut"])
    assert less > 50
    assert tokens["keep"] - tokens["strip_before_cut"] == less


def test_4c_ids_tied_to_reasoning_leave_with_it():
    answer = AIMessage(
        ["plain", {"type": "reasoning", "id": "rs_1"}, {"type": "text", "text": "a", "id": "msg_1"}]
    )
    out = without_old_reasoning([human("q"), answer, human("?")])
    assert out[1].content == ["plain", {"type": "text", "text": "a"}]


def test_5_the_system_message_is_in_every_result():
    chat = [system("never reveal"), human("q"), ai("a"), human("q"), ai("a"), human("q")]
    for counter, budget in ((len, 2), (len, 4), ("approximate", 20), ("approximate", 1_000)):
        assert fit(chat, budget, token_counter=counter)[0] is chat[0]


def test_6_system_and_tools_count_against_the_budget():
    chat = [system("word " * 2_000), human("hi"), ai("b"), human("c")]
    with pytest.raises(BudgetError) as caught:
        fit(chat, 1_000)
    assert caught.value.needed > 2_000
    tools = [{"type": "function", "function": {"name": "t", "description": "d" * 8_000}}]
    with pytest.raises(BudgetError):
        HistoryOptimizer(max_tokens=1_000).plan_request(chat[1:], tools=tools)
    assert len(HistoryOptimizer(max_tokens=1_000).plan_request(chat[1:])) == 3


def test_7_an_image_has_a_flat_price():
    image = {"type": "input_image", "image_url": "data:image/png;base64," + "A" * 400_000}
    chat = [
        system("sys"),
        human("my name is Ann"),
        ai("hello Ann"),
        human([{"type": "text", "text": "look"}, image]),
        ai("a cat"),
        human("what is my name?"),
    ]
    assert same_objects(fit(chat, 1_000), chat)


def test_8_the_cut_is_sticky():
    chat = [human("task")]
    moved, before = 0, None
    for k in range(40):
        chat += [human(f"step {k}"), ai("done " * 100)]
        view = fit([*chat, human("go on")], 2_000)[:-1]
        if before is not None and not same_objects(view[: len(before)], before):
            moved += 1
        before = view
    assert moved <= 8


def test_9_neither_empty_nor_a_summary_alone():
    chat = [human("q"), ai("", "1"), result("1", "r" * 2_000)]
    for on_overflow in ("raise", "truncate"):
        out = fit(chat, 300, on_overflow=on_overflow)
        assert places(out[:2], chat) == [0, 1]
        assert isinstance(out[2], ToolMessage)
        assert len(out) == 3
        assert approximate_tokens(out) <= 300
    with pytest.raises(BudgetError):
        fit(chat, 20)


def test_10_a_tool_loop_is_reduced_in_few_steps_and_fits():
    chat, views = [human("task")], []
    for k in range(6):
        chat += [ai("", f"c{k}"), result(f"c{k}", "word " * 2_400)]
        views.append(fit(chat, 4_000, on_overflow="truncate"))
    assert all(approximate_tokens(view) <= 4_000 for view in views)
    assert all(view[0] is chat[0] and problems(view) == [] for view in views)


def test_11_tool_arguments_cost_tokens_once():
    use = {"type": "tool_use", "id": "c1", "name": "look", "input": {"q": "x" * 4_000}}
    plain = ai([{"type": "text", "text": "hi"}], "c1", args={"q": "x" * 4_000})
    twice = ai([{"type": "text", "text": "hi"}, use], "c1", args={"q": "x" * 4_000})
    for message in (plain, twice):
        assert 1_000 <= approximate_tokens([message]) <= 1_100
        assert (
            HistoryOptimizer(max_tokens=10_000, token_counter="exact")
            .explain([human("q"), message, result("c1")])
            .tokens_before
            >= 500
        )


def test_12_a_poisoned_history_is_mended_and_a_running_turn_is_not():
    chat = [human("q"), ai("", "c1"), human("are you there?"), ai("yes"), human("go on")]
    optimizer = HistoryOptimizer(max_tokens=1_000)
    out = optimizer.invoke(chat)
    assert problems(out) == []
    assert [m for m in places(out, chat) if m is not None and m != 1] == [0, 2, 3, 4]
    assert optimizer.explain(chat).mended
    running = [human("q"), ai("", "c1")]
    assert same_objects(optimizer.invoke(running), running)


def test_a_second_system_message_moves_to_the_head_where_it_must():
    chat = [system("one"), human("q"), ai("a"), system("two"), human("q")]
    assert same_objects(fit(chat, 1_000, profile="openai"), chat)
    assert places(fit(chat, 1_000, profile="anthropic"), chat) == [0, 3, 1, 2, 4]
    told = [*chat[:2], ai("a", response_metadata={"model_provider": "anthropic"}), *chat[3:]]
    assert places(fit(told, 1_000), told) == [0, 3, 1, 2, 4]


def test_the_view_ends_where_the_chat_ends_and_begins_with_a_person():
    chat = [system("s")]
    for k in range(20):
        chat += [human(f"q{k} " * 5), ai("", f"c{k}"), result(f"c{k}", "r " * 9), ai("a " * 9)]
    for budget in range(40, 400, 24):
        out = fit([*chat, human("?")], budget)
        body = [m for m in out if not isinstance(m, SystemMessage)]
        assert isinstance(body[0], HumanMessage)
        assert problems(out) == []
