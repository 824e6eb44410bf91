"""A chat that is known is compared, not read again, and a change in it is always seen."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ask import ask, bytes_of, orchestrator, sent_by
from eunoe import ContextOrchestrator
from eunoe.pipeline.chat.intake import take_in
from eunoe.pipeline.chat.memory import ContentMemory
from eunoe.pipeline.chat.transcript import PipelineMemory
from judge import ThirdsCounter
from strategies import Raw, assistant, calling, chats, part, result, user


def answer(messages: list[Raw], by: ContextOrchestrator) -> str:
    asked = ask(messages, 300, by=by)
    return bytes_of([sent_by(asked), asked.report.to_dict()])


def opening() -> list[Raw]:
    """Finished turns with plain messages, parts, calls and keys of a host."""
    return [
        user("what do the crates weigh?"),
        {**calling("a"), "extra": {"tries": [1, 2]}},
        result("a", "81 kg"),
        assistant("81 kg"),
        {"role": "user", "content": [part("and"), part("the others?")]},
        assistant("less"),
    ]


def grow_text(chat: list[Raw]) -> None:
    chat[3]["content"] += ", and more"


def change_part(chat: list[Raw]) -> None:
    chat[4]["content"][1]["text"] = "mine?"


def change_arguments(chat: list[Raw]) -> None:
    chat[1]["tool_calls"][0]["function"]["arguments"] = '{"x": 2}'


def number_to_truth(chat: list[Raw]) -> None:
    chat[1]["extra"]["tries"][0] = True


def add_key(chat: list[Raw]) -> None:
    chat[3]["name"] = "scales"


def swap_role(chat: list[Raw]) -> None:
    chat[5]["role"] = "system"


def leave_out(chat: list[Raw]) -> None:
    del chat[4:6]


@pytest.mark.parametrize(
    "change",
    [grow_text, change_part, change_arguments, number_to_truth, add_key, swap_role, leave_out],
)
def test_what_the_caller_changes_in_place_is_seen(change: Callable[[list[Raw]], None]):
    chat = opening()
    warm = orchestrator(300)
    answer([*chat, user("so?")], warm)
    change(chat)
    asked = [*chat, user("so, all in all?")]
    assert answer(asked, warm) == answer(copy.deepcopy(asked), orchestrator(300))


@given(messages=chats(flags=True, odd=True), place=st.integers(0, 12), text=st.text(max_size=9))
def test_a_message_that_is_written_over_is_seen(messages: list[Raw], place: int, text: str):
    warm = orchestrator(0)
    ask(messages, by=warm)
    for message in messages[place:][:1]:
        message.update(content=text)
    longer = [*messages, user("so?")]
    ask(longer[:-1], by=warm)
    assert sent_by(ask(longer, by=warm)) == sent_by(ask(copy.deepcopy(longer)))


class Reading(ContentMemory):
    """Notes how many messages it was asked to read."""

    read = 0

    def read_all(self, raws: Any) -> Any:
        """The entries of some messages."""
        self.read += len(raws)
        return super().read_all(raws)


class NotingMemory(PipelineMemory):
    """Hands out one memory of contents that notes what is read."""

    def __init__(self) -> None:
        super().__init__()
        self.noting = Reading(1_000_000)

    def contents(self, counted_by: str) -> ContentMemory:
        """The same for any counter."""
        return self.noting


def test_of_a_known_chat_only_the_new_messages_are_read():
    memory, counter = NotingMemory(), ThirdsCounter()
    by = orchestrator(0, memory=memory)
    chat = [m for _ in range(40) for m in opening()]
    ask([*chat, user("so?")], by=by)
    memory.noting.read = 0
    ask(copy.deepcopy([*chat, user("so?"), assistant("well"), user("then?")]), by=by)
    assert memory.noting.read == 3
    memory.noting.read = 0
    flags, transcript = take_in(
        (*chat, user("so?"), assistant("well"), user("and now?")),
        memory,
        counter,
        by.settings,
    )
    assert memory.noting.read == 1
    assert [e.tokens > 0 for e in flags.entries] == [True] * (len(chat) + 3)
    assert len(transcript.entries) == len(chat) + 2
    assert transcript.busy


def test_a_chat_with_flags_is_read_anew_each_time():
    memory = NotingMemory()
    by = orchestrator(0, memory=memory)
    chat = [user("!pin the code is 7391"), assistant("noted"), *opening()]
    first = ask([*chat, user("so?")], by=by)
    memory.noting.read = 0
    again = ask([*chat, user("so?")], by=by)
    assert memory.noting.read > len(chat)
    assert sent_by(again) == sent_by(first)
