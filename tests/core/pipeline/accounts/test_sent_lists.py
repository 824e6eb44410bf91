"""Why the next request of a chat does not go on from the one before it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eunoe import ContextOrchestrator, Conversation, TokenBudget
from eunoe.domain.ordinals import ordinal
from eunoe.pipeline.accounts.sent_lists import CacheOutlook, SentLists, sent_list

WORDS = "river stone light paper "
TOOLS = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}]


def make_chat(turns: int, *, size: int = 20, system: str = "Be brief.") -> list[dict[str, Any]]:
    """So many questions and answers, each of about ``4 * size`` tokens, and a last question."""
    chat = [{"role": "system", "content": system}]
    for turn in range(turns):
        chat.append({"role": "user", "content": f"Question {turn}: " + WORDS * size})
        chat.append({"role": "assistant", "content": f"Answer {turn}: " + WORDS * size})
    return [*chat, {"role": "user", "content": "And now?"}]


def as_sent(messages: Any, budget: int = 0, tools: Any = None, prompt: str = "") -> Any:
    result = ContextOrchestrator(TokenBudget(budget)).process_sync(
        Conversation.from_openai_messages(messages), tools=tools
    )
    report = result.report
    return sent_list(
        messages,
        result.placements,
        report.decisions.sizes,
        tools=tools,
        tool_tokens=report.tool_tokens,
        prompt=prompt,
    )


def told(before: Any, after: Any, **more: Any) -> str | None:
    """What is said of the second of two requests."""
    lists = SentLists()
    assert lists.follow("c", before) == CacheOutlook()
    bust = lists.follow("c", after, **more).bust
    return bust.describe() if bust else None


SYSTEM = "You help. " * 100


def test_the_first_changed_byte_of_the_system_prompt_is_named() -> None:
    changed = SYSTEM[:812] + "X" + SYSTEM[813:]
    before, after = make_chat(10, system=SYSTEM), make_chat(11, system=changed)
    expected = "the system prompt changed at byte 812"
    assert told(as_sent(before), as_sent(after)) == expected
    assert told(as_sent(before, tools=TOOLS), as_sent(after, tools=TOOLS)) == expected
    cut = told(as_sent(before, budget=1500), as_sent(after, budget=1500))
    assert cut is None or cut == expected  # a small window has little to lose


def test_a_prompt_of_the_host_is_part_of_the_system_prompt() -> None:
    one, other = "Now it is 10:01. ", "Now it is 10:02. "
    before, after = make_chat(10), make_chat(11)
    said = told(as_sent(before, prompt=one), as_sent(after, prompt=other))
    assert said == "the system prompt changed at byte 14"
    assert told(as_sent(before, prompt=one), as_sent(after, prompt=one)) is None
    after[0] = {**after[0], "content": "Be kind."}
    said = told(as_sent(before, prompt=one), as_sent(after, prompt=one))
    assert said == f"the system prompt changed at byte {len(one) + 3}"


def test_tools_edits_and_insertions_are_told_apart() -> None:
    before, after = make_chat(12), make_chat(13)
    assert told(as_sent(before), as_sent(after, tools=TOOLS)) == "the tools changed"
    edited = [*after[:4], {**after[4], "content": "Better: " + WORDS * 20}, *after[5:]]
    assert told(as_sent(before), as_sent(edited)) == "the 5th message changed"
    more = [*after[:3], {"role": "user", "content": "A note."}, *after[3:]]
    assert told(as_sent(before), as_sent(more)) == "the 4th message was put in"
    fewer = [after[0], *after[7:]]
    assert told(as_sent(before), as_sent(fewer)) == "the 2nd to 7th messages were left out"


def test_an_edit_that_drops_all_that_followed_reads_nothing_again() -> None:
    before = make_chat(12)
    after = [*before[:5], {"role": "user", "content": "Something else: " + WORDS * 20}]
    assert told(as_sent(before), as_sent(after)) is None


def test_another_model_is_told_once() -> None:
    lists = SentLists()
    lists.follow("c", as_sent(make_chat(10)), model_id="a")
    bust = lists.follow("c", as_sent(make_chat(11)), model_id="b").bust
    assert bust is not None
    assert bust.describe() == "the model changed"
    assert bust.again > 1024
    assert lists.follow("c", as_sent(make_chat(12)), model_id="b").bust is None
    assert lists.follow("c", as_sent(make_chat(12)), model_id="a").bust is None


def test_two_models_side_by_side_are_no_switch() -> None:
    lists = SentLists()
    for turns in range(10, 14):
        for model in ("a", "b"):
            assert lists.follow("c", as_sent(make_chat(turns)), model_id=model).bust is None


@pytest.mark.parametrize("policy_budget", [800, 2000, 6000])
def test_what_eunoe_cuts_and_recalls_is_never_blamed_on_others(policy_budget: int) -> None:
    lists, chat = SentLists(), make_chat(60)
    for stop in range(2, len(chat) + 1, 2):
        given = [*chat[:stop]]
        if stop % 10 == 0:
            given[-1] = {"role": "user", "content": f"What was question {stop // 8} about?"}
            chat[stop - 1] = given[-1]
        outlook = lists.follow("c", as_sent(given, policy_budget))
        assert outlook.bust is None


@pytest.mark.parametrize("budget", [0, 1500])
def test_what_is_unchanged_counts_what_was_given_not_what_was_sent(budget: int) -> None:
    lists, chat, after = SentLists(), make_chat(20, system=SYSTEM), make_chat(21, system=SYSTEM)
    assert lists.follow("c", as_sent(chat, budget, TOOLS)).unchanged == 0
    outlook = lists.follow("c", as_sent(after, budget, TOOLS))
    now = as_sent(after, budget, TOOLS)
    assert outlook.unchanged == sum(now.given_tokens[: len(chat)])  # tools, and all but "And now?"
    edited = [*after[:5], {"role": "user", "content": "Edited."}, *after[6:]]
    assert lists.follow("c", as_sent(edited, budget, TOOLS)).unchanged == sum(now.given_tokens[:6])
    clock = [{"role": "system", "content": SYSTEM + "It is noon."}, *edited[1:]]
    assert lists.follow("c", as_sent(clock, budget, TOOLS)).unchanged == now.given_tokens[0]
    assert lists.follow("c", as_sent(clock, budget), continued=True).unchanged is None


def test_a_tool_loop_goes_on_from_what_was_sent_and_the_next_turn_from_all() -> None:
    lists, chat = SentLists(), make_chat(60)
    engine = ContextOrchestrator(TokenBudget(6000))

    def follow(messages: Any, *, continued: bool) -> tuple[list[Any], CacheOutlook]:
        result = engine.process_sync(Conversation.from_openai_messages(messages))
        now = sent_list(messages, result.placements, result.report.decisions.sizes)
        outlook = lists.follow("c", now, continued=continued)
        return result.conversation.to_openai_messages(), outlook

    view, _ = follow(chat, continued=False)
    assert len(view) < len(chat)
    steps: list[Any] = []
    for step in range(3):
        call = {"id": f"c{step}", "type": "function", "function": {"name": "a", "arguments": "{}"}}
        steps += [
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{step}", "content": WORDS * 10},
        ]
        _, outlook = follow([*view, *steps], continued=True)
        assert outlook.bust is None
        assert outlook.repeated
    answered = [*chat, *steps, {"role": "assistant", "content": "Done."}]
    following = [*answered, {"role": "user", "content": "Thanks. And then?"}]
    _, outlook = follow(following, continued=False)
    assert outlook.bust is None
    assert outlook.repeated
    edited = list(answered)
    place = len(chat) - 11  # in the window
    edited[place] = {**edited[place], "content": "Edited. " + WORDS * 20}
    _, outlook = follow([*edited, {"role": "user", "content": "Once more?"}], continued=False)
    assert outlook.bust is not None
    assert outlook.bust.describe() == f"the {ordinal(place)} message changed"


@given(st.lists(st.sampled_from("abcd"), max_size=8), st.lists(st.sampled_from("abcd"), max_size=8))
@settings(max_examples=100)
def test_what_is_repeated_is_the_common_beginning(one: list[str], two: list[str]) -> None:
    def listed(names: list[str]) -> Any:
        return as_sent([{"role": "user", "content": name} for name in names])

    lists = SentLists()
    lists.follow("c", listed(one))
    now = listed(two)
    same = 0
    while same < min(len(one), len(two)) and one[same] == two[same]:
        same += 1
    outlook = lists.follow("c", now)
    if len(listed(one).sent) == len(one) and len(now.sent) == len(two):
        assert outlook.repeated == sum(now.tokens[:same])
    assert outlook.bust is None  # so little is not worth a word


def test_without_a_chat_nothing_is_known_and_looking_changes_nothing() -> None:
    lists, before = SentLists(), as_sent(make_chat(10))
    lists.follow("", before)
    assert lists.follow("", before) == CacheOutlook()
    lists.follow("c", before)
    other = as_sent(make_chat(11, system="Another."))
    first = lists.follow("c", other, remember=False)
    assert first.bust is not None
    assert lists.follow("c", other, remember=False) == first


def test_chats_are_kept_apart_and_forgotten_in_the_end() -> None:
    lists, before = SentLists(), as_sent(make_chat(10))
    lists.follow("c", before)
    assert lists.follow("d", before).repeated is None
    for number in range(600):
        lists.follow(f"c{number}", before)
    assert lists.follow("c", before).repeated is None
    assert lists.follow("c599", before).repeated


def test_no_text_is_kept_but_the_system_prompt() -> None:
    now = as_sent(make_chat(10, system="The system prompt."))
    assert "Question" not in repr(now)
    assert now.prompt == "The system prompt."
    assert as_sent(make_chat(2, system="long " * 10_000)).prompt == ""
