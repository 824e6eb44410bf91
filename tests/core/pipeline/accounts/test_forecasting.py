"""A whole chat through the pipeline and into a ledger, against lists that are really compared."""

from __future__ import annotations

import pytest

from eunoe import ContextOrchestrator, Conversation, TokenBudget
from eunoe.pipeline.accounts.forecasting import enter_requests
from eunoe.stages.accounting.entry import account_requests
from eunoe.stages.accounting.ledger import Ledger
from eunoe.stages.accounting.price import ModelPrice, TokenUse
from eunoe.stages.accounting.price_table import ModelPricingTable
from eunoe.stages.counting.message_cost import count_tools
from eunoe.stages.counting.tokenizer import find_tokenizer

TURNS = 24
PRIMING = 3
PRICE = ModelPrice(input=2.5, cached=0.25, output=10)
TOOLS = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}]


class Words:
    """A token for each word."""

    name, exact = "words", True

    def count(self, text):
        return len(text.split())

    def count_batch(self, texts):
        return [self.count(text) for text in texts]


def make_chat():
    chat = [{"role": "system", "content": "Be brief and kind."}]
    for turn in range(TURNS):
        chat.append({"role": "user", "content": f"Note item {turn}. " + "more " * (turn % 7)})
        chat.append({"role": "assistant", "content": f"Item {turn} noted. " + "fine " * 200})
    return chat


def size(messages):
    return sum(Words().count(m["content"]) + 4 for m in messages)


def shared(before, after):
    same = 0
    while same < min(len(before), len(after)) and before[same] == after[same]:
        same += 1
    return size(after[:same])


@pytest.mark.parametrize("tools", [None, TOOLS])
@pytest.mark.parametrize("policy", ["stable", "window", "off"])
def test_the_ledger_of_a_chat(policy: str, tools):
    budget = 3000 if policy != "off" else 0
    orchestrator = ContextOrchestrator(TokenBudget(budget), token_counter=Words())
    fixed = count_tools(tools, Words()) if tools else 0
    ledger, chat, last, last_whole = Ledger(), make_chat(), [], []
    sent = cached = whole = whole_cached = 0
    for stop in range(2, len(chat) + 1, 2):
        conversation = Conversation.from_openai_messages(chat[:stop])
        result = orchestrator.process_sync(conversation, policy=policy, tools=tools)
        messages = result.conversation.to_openai_messages()
        ledger = ledger + account_requests([result.forecast], PRICE)
        sent += size(messages) + fixed + PRIMING
        cached += shared(last, messages) + (fixed + PRIMING if last else 0)
        whole += size(chat[:stop]) + fixed + PRIMING
        whole_cached += shared(last_whole, chat[:stop]) + (fixed + PRIMING if last else 0)
        last, last_whole = messages, chat[:stop]
    account = ledger.estimated
    assert account.sent.requests == TURNS
    assert account.sent.prompt == sent
    assert account.sent.cached == cached
    assert (account.untouched.prompt, account.untouched.cached) == (whole, whole_cached)
    if policy == "window":
        assert account.window == account.sent
    if policy == "off":
        assert account.untouched == account.window == account.sent
        assert ledger.saved_usd == 0
    else:
        assert account.untouched_over > 0


def test_keeping_the_cache_costs_less_than_a_plain_window():
    orchestrator = ContextOrchestrator(TokenBudget(3000), token_counter=Words())
    chat, ledger = make_chat(), Ledger()
    for stop in range(2, len(chat) + 1, 2):
        result = orchestrator.process_sync(Conversation.from_openai_messages(chat[:stop]))
        ledger = ledger + account_requests([result.forecast], PRICE)
    assert ledger.total.sent.cost < ledger.total.window.cost
    assert ledger.saved_usd > 0


def test_a_report_replaces_the_estimate_and_scales_the_others():
    orchestrator = ContextOrchestrator(TokenBudget(3000), token_counter=Words())
    result = orchestrator.process_sync(Conversation.from_openai_messages(make_chat()))
    forecast = result.forecast
    reported = TokenUse(prompt=2 * forecast.sent.prompt, cached=7, completion=5)
    account = account_requests([forecast], PRICE, reported=reported).measured
    assert (account.sent.prompt, account.sent.cached) == (reported.prompt, 7)
    assert account.untouched.prompt == 2 * forecast.untouched.prompt
    assert account.window.prompt == 2 * forecast.window.prompt


def test_forecasts_do_not_depend_on_what_was_asked_before():
    chat = make_chat()
    warm = ContextOrchestrator(TokenBudget(3000), token_counter=Words())
    for stop in range(2, len(chat) + 1, 2):
        conversation = Conversation.from_openai_messages(chat[:stop])
        cold = ContextOrchestrator(TokenBudget(3000), token_counter=Words())
        assert warm.process_sync(conversation).forecast == cold.process_sync(conversation).forecast


def test_a_real_tokenizer_is_no_exception():
    assert find_tokenizer("o200k").count("word") == 1
    result = ContextOrchestrator().process_sync(Conversation.from_openai_messages(make_chat()))
    assert result.forecast.sent.prompt == result.report.tokens_after
    assert result.forecast.untouched.prompt == result.report.tokens_after


@pytest.mark.parametrize(
    ("usage", "prompt", "cached"),
    [
        (None, None, None),
        ({"prompt_tokens": 900, "prompt_tokens_details": {"cached_tokens": 512}}, 900, 512),
        ({"input_tokens": 10, "cache_read_input_tokens": 800, "output_tokens": 3}, 810, 800),
        ({"timings": {"prompt_n": 90, "cache_n": 800}}, 890, 800),
        ({"prompt_tokens": 900, "input_tokens": 1700, "output_tokens": 9}, 1700, 0),
    ],
)
def test_reports_as_they_come(usage, prompt, cached):
    result = ContextOrchestrator().process_sync(Conversation.from_openai_messages(make_chat()[:6]))
    entry = enter_requests([result.forecast], model_id="gpt-4o", usage=usage)
    if usage is None:
        assert entry.estimated.sent.requests == 1
    else:
        assert (entry.measured.sent.prompt, entry.measured.sent.cached) == (prompt, cached)
        assert entry.measured.sent.cost > 0
    nothing = ModelPricingTable.empty()
    unpriced = enter_requests([result.forecast], model_id="gpt-4o", usage=usage, prices=nothing)
    assert unpriced.total.sent.unpriced == 1
