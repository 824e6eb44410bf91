"""Arguments of the wrong type are refused in one sentence, whatever they are."""

from __future__ import annotations

import asyncio

import pytest

from ask import orchestrator
from eunoe import (
    CompositeBudget,
    ContextOrchestrator,
    Conversation,
    ConversationError,
    CostBudget,
    EunoeError,
    PipelineMemory,
    Settings,
    SettingsError,
    TokenBudget,
    lint,
)
from strategies import assistant, user

NAN = float("nan")
CHAT = Conversation.from_openai_messages([user("q")])


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("output_reserve", ["10", -1, 1.5, True, NAN, [10]]),
        ("tools", ["search", {"name": "search"}, 5, [None], [["x"]]]),
        ("budget", [8000, "8000", 0, True, NAN, TokenBudget, {}]),
        ("policy", ["fast", "", 5, ["stable"]]),
        ("profile", ["grok", "", 5, ["openai"]]),
        ("model_id", [5, ["gpt-4o"], b"gpt-4o"]),
    ],
)
def test_each_argument_of_a_request_is_checked(name, values):
    for value in values:
        with pytest.raises(SettingsError) as caught:
            orchestrator().process_sync(CHAT, **{name: value})
        assert caught.value.name.startswith(name)
        assert str(caught.value).startswith(name)
        assert "; allowed: " in str(caught.value)


@pytest.mark.parametrize("value", [-1, "1", True, NAN, float("inf")])
def test_a_deadline_is_seconds(value):
    with pytest.raises(SettingsError, match="deadline is "):
        asyncio.run(orchestrator().process(CHAT, deadline=value))


@pytest.mark.parametrize(("deadline", "given_up"), [(0, True), (0.0, True), (60.0, False)])
def test_no_time_at_all_is_a_deadline_too(deadline, given_up):
    chat = [m for i in range(40) for m in (user(f"item {i} " + "lorem " * 40), assistant("ok"))]
    chat = Conversation.from_openai_messages([*chat, user("what was item 3?")])
    answer = asyncio.run(orchestrator(500).process(chat, deadline=deadline))
    assert any("deadline" in w for w in answer.report.warnings) == given_up
    assert answer.report.tokens_after <= 500


@pytest.mark.parametrize("given", [[user("q")], None, "q", user("q")])
def test_a_bare_list_is_no_conversation(given):
    with pytest.raises(ConversationError, match="from_openai_messages"):
        orchestrator().process_sync(given)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("budget", [8000, "8000", True, NAN, {}]),
        ("settings", [{}, "stable", 5, Settings]),
        ("on_overflow", ["cut", None, 5, ["raise"]]),
        ("token_counter", [len, "o200k", 5]),
        ("flag_cap", ["9", -1, 1.5, True]),
        ("embed_timeout", ["1", -1, NAN, None, 0, True]),
        ("label_timeout", ["1", -1, NAN, 0.0]),
        ("structure_timeout", ["1", -1, NAN, None, 0]),
        ("embedder", [5, len, "minilm", object()]),
        ("labeller", [5, len, "labels"]),
        ("summarizer", [5, len, "notes"]),
        ("summary_store", [5, "redis", {}]),
        ("entity_extractor", [5, len]),
        ("stance_judge", [5, len]),
        ("observer", [5, print]),
        ("memory", [5, {}, "shared", PipelineMemory]),
    ],
)
def test_each_part_of_an_orchestrator_is_checked(name, values):
    for value in values:
        with pytest.raises(SettingsError) as caught:
            ContextOrchestrator(**{name: value})
        assert caught.value.name == name
        assert "; allowed: " in str(caught.value)


def test_prices_are_looked_up_in_what_knows_some():
    for prices in (5, "list", len):
        with pytest.raises(SettingsError, match="allowed: a PriceLookup"):
            ContextOrchestrator(CostBudget(0.01), prices=prices)
    ContextOrchestrator(CostBudget(0.01), prices={}).process_sync(CHAT)


@pytest.mark.parametrize("name", ["embed_timeout", "label_timeout", "structure_timeout"])
def test_a_time_out_is_judged_alike_with_and_without_the_model(name):
    class Model:
        name = "m"
        dimension = None
        embed = label = extract = judge = None

    models = {n: Model() for n in ("embedder", "labeller", "entity_extractor", "stance_judge")}
    for value in (0, -1, 0.0, NAN, 0.001, 5):
        raised = []
        for given in ({}, models):
            try:
                ContextOrchestrator(**given, **{name: value})
                raised.append(None)
            except SettingsError as error:
                raised.append(str(error))
        assert raised[0] == raised[1]
        assert (raised[0] is None) == (value in (0.001, 5))


def test_a_window_that_is_not_known_sets_no_limit():
    assert TokenBudget.of_window(0) == TokenBudget() == TokenBudget.of_window(0, ratio=1)
    assert TokenBudget.of_window(1) == TokenBudget(1)
    for ratio in (0, 2, -1, NAN):
        with pytest.raises(SettingsError) as caught:
            TokenBudget.of_window(8_000, ratio=ratio)
        assert caught.value.name == "ratio"


@pytest.mark.parametrize(
    "make",
    [
        lambda: Settings(policy=["stable"]),
        lambda: Settings(high_water=NAN),
        lambda: Settings(high_water="1"),
        lambda: Settings(max_candidates=2.5),
        lambda: Settings(read_flags="false"),
        lambda: Settings(rewrite_call_ids=1),
        lambda: Settings(locked_flags="full"),
        lambda: Settings(locked_flags=["full"]),
        lambda: Settings(locked_flags=("ful",)),
        lambda: CostBudget("1"),
        lambda: CostBudget(True),
        lambda: CostBudget(NAN),
        lambda: CompositeBudget(8000),
        lambda: CompositeBudget(TokenBudget(1), 0.5),
        lambda: TokenBudget.of_window("49152"),
        lambda: TokenBudget.of_window(49_152, ratio="0.5"),
        lambda: TokenBudget.of_window(49_152, ratio=NAN),
        lambda: lint([user("q")], budget="8000"),
        lambda: lint([user("q")], tools="search"),
        lambda: lint([user("q")], ["openai"]),
        lambda: lint("q"),
        lambda: lint([user("q"), "r"]),
        lambda: lint([user("q")], model_id=5),
    ],
)
def test_values_and_lint_are_checked_too(make):
    with pytest.raises(EunoeError, match="allowed: "):
        make()


@pytest.mark.parametrize("messages", ["q", 5, {"role": "user"}, [user("q"), None], [["user"]]])
def test_messages_are_a_list_of_dicts(messages):
    with pytest.raises(ConversationError, match="allowed: "):
        Conversation.from_openai_messages(messages)


@pytest.mark.parametrize("chat", [5, ["a", 1], {"a": 1}, b"x"])
def test_any_name_of_a_chat_will_do(chat):
    class Worth:
        name = "worth"

        def label(self, question, messages):
            return [0.5] * len(messages)

    by = ContextOrchestrator(TokenBudget(60), labeller=Worth())
    messages = [{"role": "user", "content": f"word {k} " * 9} for k in range(9)]
    answer = by.process_sync(Conversation.from_openai_messages(messages), session_id=chat)
    assert answer.report.tokens_after <= 60
