"""Documents in front of a question: the chat behind it is seen as without them."""

from __future__ import annotations

from typing import Any

import pytest

from eunoe.stages.accounting.forecast import RequestForecast
from eunoe.stages.counting import find_tokenizer
from eunoe_openwebui.documents import find_documents
from eunoe_openwebui.firsttext import first_text

PIXEL = "data:image/png;base64,iVBORw0KGgo="
FACT = "Our PostgreSQL database listens on port 54329 of atlas."
COUNTER = find_tokenizer("o200k")
ROOM = 6000


def office(turns: int = 60) -> list[dict[str, Any]]:
    """A chat about many things, with a fact near its beginning."""
    messages = [{"role": "user", "content": FACT}, {"role": "assistant", "content": "Noted."}]
    for n in range(turns):
        messages.append({"role": "user", "content": f"Draft note {n} about the parking lot."})
        text = f"Note {n}: " + "who may park where and until when is said on the board. " * 5
        messages.append({"role": "assistant", "content": text})
    return messages


def with_documents(written: str, size: int, in_parts: bool = False) -> dict[str, Any]:
    """The question as the host sends it."""
    source = " ".join(f"The {n}. paragraph is on rivers and their banks." for n in range(size))
    text = f"### Task:\nAnswer.\n<context>\n<source>{source}</source>\n</context>\n\n{written}"
    picture = {"type": "image_url", "image_url": {"url": PIXEL}}
    content = [{"type": "text", "text": text}, picture] if in_parts else text
    return {"role": "user", "content": content}


def ask(plugin: Any, messages: list[dict[str, Any]], written: str, **more: Any) -> list[Any]:
    metadata = {"chat_id": "c", "base_user_prompt": written, "base_system_prompt": None}
    given = {"valves": {"max_tokens": ROOM}, "__metadata__": metadata, **more}
    sent = plugin.call("request", {"model": "gpt-4o", "messages": messages}, **given)
    return list(sent["messages"])


def size_of(messages: list[Any]) -> int:
    return sum(COUNTER.count(first_text(message)) + 4 for message in messages)


@pytest.mark.parametrize("in_parts", [False, True])
@pytest.mark.parametrize("size", [120, 240])
def test_an_old_fact_comes_back_and_the_chat_stays_beside_documents(
    plugin: Any, size: int, in_parts: bool
) -> None:
    question = "On which port does our PostgreSQL database listen?"
    given = with_documents(question, size, in_parts)
    sent = ask(plugin, [*office(), given], question)
    assert sent[-1] is given
    assert "54329" in str(sent[:-1])
    assert size_of(sent[:-1]) > (ROOM - size_of([given])) * 0.3
    assert size_of(sent) <= ROOM
    assert "recalled" in plugin.status


def test_the_window_begins_where_it_began_while_documents_change(plugin: Any) -> None:
    messages, before, moved = office(), [], 0
    for turn, size in enumerate((150, 170, 160, 175, 155, 165)):
        question = f"Draft note {turn + 100} about the garden."
        sent = ask(plugin, [*messages, with_documents(question, size)], question)
        moved += sent[: len(before)] != before
        messages.append({"role": "user", "content": question})
        messages.append({"role": "assistant", "content": "Here it is: trees, and a bench."})
        before = sent[:-1]
        assert size_of(sent) <= ROOM
    assert moved <= 1


def test_what_fits_with_its_documents_is_sent_as_it_is(plugin: Any) -> None:
    for size in range(40, 90, 10):
        messages = [*office(), with_documents("And now?", size)]
        least = size_of(messages) + 3  # and the answer's first tokens
        for room, whole in ((least - 1, False), (least, True), (least + 1, True)):
            sent = ask(plugin, messages, "And now?", valves={"max_tokens": room})
            assert (sent == messages) is whole
            pairs = zip(sent, messages, strict=True) if whole else ()
            assert all(one is other for one, other in pairs)


@pytest.mark.parametrize("overflow", ["truncate", "keep", "refuse"])
@pytest.mark.parametrize("looked_up", [False, True])
def test_a_turn_that_fits_with_its_documents_is_not_shortened(
    plugin: Any, overflow: str, looked_up: bool
) -> None:
    long = "One more row of it. " * 400
    written = "And now?" if looked_up else long + "And now?"
    call = {"id": "c", "type": "function", "function": {"name": "a", "arguments": "{}"}}
    step = [
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": long},
    ]
    turn = [with_documents(written, 100), *(step if looked_up else [])]
    room = size_of(turn) + 50  # less than the eighth that the documents begin would leave
    valves = {"max_tokens": room, "on_overflow": overflow}
    sent = ask(plugin, [*office(5), *turn], written, valves=valves)
    assert sent[-len(turn) :] == turn
    assert size_of(sent) <= room


@pytest.mark.parametrize("rules", ["openai", "template"])
def test_flags_and_documents_through_a_tool_loop(plugin: Any, rules: str) -> None:
    written = "!pin On which port does our PostgreSQL database listen?"
    metadata = {"chat_id": "c", "base_user_prompt": written, "base_system_prompt": None}
    given = {
        "valves": {"max_tokens": ROOM, "provider_rules": rules},
        "__metadata__": metadata,
    }
    sent = [*office(), with_documents(written, 200)]
    for step in range(3):
        sent = ask(plugin, sent, written, **given)
        texts = [first_text(message) for message in sent if message["role"] == "user"]
        assert sum("paragraph is on rivers" in text for text in texts) == 1
        assert sum(text.endswith("</context>\n\n" + written[5:]) for text in texts) == 1
        assert "54329" in str(sent)
        assert "!pin" not in str(sent)
        assert size_of(sent) <= ROOM
        call = {"id": f"c{step}", "type": "function", "function": {"name": "a", "arguments": "{}"}}
        sent.append({"role": "assistant", "content": "", "tool_calls": [call]})
        sent.append({"role": "tool", "tool_call_id": f"c{step}", "content": "Nothing."})


def test_a_flag_that_limits_counts_the_documents_too(plugin: Any) -> None:
    written = "And now?"
    messages = office()
    messages[-2]["content"] = "!+target=4000 " + messages[-2]["content"]
    sent = ask(plugin, [*messages, with_documents(written, 200)], written)
    assert size_of(sent) <= 4000
    assert "of 4k" in plugin.status


def test_where_flags_are_not_read_none_limits(plugin: Any) -> None:
    question = "On which port does our PostgreSQL database listen?"
    messages = office()
    messages[-2]["content"] = "!+target=4000 " + messages[-2]["content"]
    given = with_documents(question, 240)
    valves = {"max_tokens": ROOM, "read_flags": False}
    sent = ask(plugin, [*messages, given], question, valves=valves)
    assert sent[-1] is given
    assert "54329" in str(sent[:-1])
    assert size_of(sent[:-1]) > (ROOM - size_of([given])) * 0.3


@pytest.mark.parametrize("size", [520, 2000])
def test_documents_that_leave_no_room_are_text_like_any(plugin: Any, size: int) -> None:
    sent = ask(plugin, [*office(), with_documents("And now?", size)], "And now?")
    assert size_of(sent) <= ROOM
    assert first_text(sent[-1]).endswith("And now?")


def test_the_account_has_the_documents(plugin: Any) -> None:
    written = "!why And now?"
    metadata = {"chat_id": "c", "base_user_prompt": written, "base_system_prompt": None}
    sent = ask(plugin, [*office(), with_documents(written, 200)], written, __metadata__=metadata)
    counted = metadata["eunoe"]["counted"]
    assert size_of(sent) == pytest.approx(counted, abs=10)
    assert counted == metadata["eunoe"]["forecasts"][0][0]
    [account] = [e["data"]["document"][0] for e in plugin.events if e["type"] == "citation"]
    assert f"sent {counted:,} tokens of {ROOM:,} allowed" in account


def test_documents_repeat_in_the_steps_of_their_turn(plugin: Any) -> None:
    metadata = {"chat_id": "c", "base_user_prompt": "And now?", "base_system_prompt": None}
    sent = [*office(), with_documents("And now?", 200)]
    call = {"id": "c", "type": "function", "function": {"name": "a", "arguments": "{}"}}
    for _ in range(2):
        sent = ask(plugin, sent, "And now?", __metadata__=metadata)
        sent.append({"role": "assistant", "content": "", "tool_calls": [call]})
        sent.append({"role": "tool", "tool_call_id": "c", "content": "Nothing."})
    first, second = map(RequestForecast.from_json, metadata["eunoe"]["forecasts"])
    assert first is not None
    assert second is not None
    assert second.untouched.repeated == pytest.approx(first.untouched.prompt, abs=10)


@pytest.mark.parametrize(
    ("text", "written"),
    [("And now?", "And now?"), ("  And now?", "And now?"), ("<context>", ""), ("a b", "c")],
)
def test_without_documents_there_are_none(text: str, written: str) -> None:
    messages = [{"role": "user", "content": text}, {"role": "assistant", "content": written}]
    assert find_documents(messages, written, COUNTER) is None


@pytest.mark.parametrize("follow", ["Since when exactly?", "Why?", "And the host?"])
@pytest.mark.parametrize("size", [0, 200])
def test_a_question_goes_on_from_the_one_before_beside_documents(
    plugin: Any, size: int, follow: str
) -> None:
    question = "On which port does our PostgreSQL database listen?"
    before = [{"role": "user", "content": question}, {"role": "assistant", "content": "54330?"}]
    given = with_documents(follow, size) if size else {"role": "user", "content": follow}
    sent = ask(plugin, [*office(), *before, given], follow)
    assert sent[-1] is given
    assert FACT in str(sent[:-1])
    assert size_of(sent) <= ROOM
