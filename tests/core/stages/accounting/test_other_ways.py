"""What two other ways would have sent: against lists that are really made and compared."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from eunoe.stages.accounting.forecast import PromptForecast
from eunoe.stages.accounting.other_ways import forecast_request


@dataclass(frozen=True)
class Chat:
    """Running sums and the messages that they are made of: (role, tokens)."""

    messages: tuple[tuple[str, int], ...]

    @property
    def tokens(self):
        return np.cumsum([0, *[t for _, t in self.messages]])

    @property
    def system_tokens(self):
        return np.cumsum([0, *[t if r == "system" else 0 for r, t in self.messages]])

    @property
    def turn_starts(self):
        users = [i for i, (r, _) in enumerate(self.messages) if r == "user" and i]
        first_is_turn = [0] if self.messages else []
        users = [i for i in users if any(r == "user" for r, _ in self.messages[:i])]
        return np.array([*first_is_turn, *users], dtype=np.int64)

    @property
    def requests(self):
        return np.array(
            [i for i, (r, _) in enumerate(self.messages) if r == "assistant" and i], dtype=np.int64
        )


def lists_of(chat: Chat, stop: int, room: int) -> tuple[list[int], list[int]]:
    """The untouched list and the plain window, as places of messages."""
    whole = list(range(stop))
    for start in [int(s) for s in chat.turn_starts if s < max(stop, 1)]:
        view = [i for i in whole if i >= start or chat.messages[i][0] == "system"]
        if sum(chat.messages[i][1] for i in view) <= room:
            break
    return whole, view if stop else []


def prefix_tokens(chat: Chat, one: list[int], two: list[int]) -> int:
    total = 0
    for a, b in zip(one, two, strict=False):
        if a != b:
            break
        total += chat.messages[a][1]
    return total


turns = st.lists(
    st.tuples(
        st.integers(1, 60),
        st.lists(st.tuples(st.sampled_from(["tool", "assistant"]), st.integers(1, 60)), max_size=3),
        st.integers(1, 60),
    ),
    min_size=1,
    max_size=8,
)


@st.composite
def chats(draw):
    messages = [("system", draw(st.integers(1, 40)))] if draw(st.booleans()) else []
    for user, middle, answer in draw(turns):
        messages += [("user", user), *middle, ("assistant", answer)]
        if draw(st.integers(0, 9)) == 0:
            messages.append(("system", draw(st.integers(1, 20))))
    messages.append(("user", 5))
    return Chat(tuple(messages))


@given(chats(), st.integers(10, 400), st.integers(0, 50))
def test_as_lists_that_are_made(chat: Chat, room: int, overhead: int):
    stop = len(chat.messages)
    made = forecast_request(chat, stop=stop, sent=100, overhead=overhead, room=room)
    before = [int(r) for r in chat.requests if r < stop]
    whole, window = lists_of(chat, stop, room)
    assert made.untouched.prompt == overhead + sum(chat.messages[i][1] for i in whole)
    assert made.window.prompt == overhead + sum(chat.messages[i][1] for i in window)
    if before:
        old_whole, old_window = lists_of(chat, before[-1], room)
        shared = prefix_tokens(chat, old_whole, whole)
        assert made.untouched.repeated == overhead + shared
        assert made.window.repeated == overhead + prefix_tokens(chat, old_window, window)
    else:
        assert made.untouched.repeated == made.window.repeated == made.sent.repeated == 0
    assert made.untouched_fits == (made.untouched.prompt <= room + overhead)


def test_by_hand():
    # system 10, then turns of 20 + 30: three finished, and a question of 5
    chat = Chat((("system", 10), *[("user", 20), ("assistant", 30)] * 3, ("user", 5)))
    made = forecast_request(chat, stop=8, sent=120, overhead=7, room=100)
    assert made.untouched == PromptForecast(prompt=7 + 165, repeated=7 + 130)
    # newest that fit 100: system, the last turn, the question (65); before it: two turns (80)
    assert made.window == PromptForecast(prompt=7 + 65, repeated=7 + 10)
    wide = forecast_request(chat, stop=8, sent=120, overhead=7, room=120)
    assert wide.window == PromptForecast(prompt=7 + 115, repeated=7 + 80)
    assert not made.untouched_fits
    assert made.sent == PromptForecast(prompt=120, repeated=120)
    cut = forecast_request(chat, stop=8, sent=72, overhead=7, room=120, start=5, fresh_cut=True)
    assert cut.sent == PromptForecast(prompt=72, repeated=17)
    kept = forecast_request(chat, stop=8, sent=72, overhead=7, room=120, start=5)
    assert kept.sent.repeated == 7 + 10 + 20
    assert forecast_request(chat, stop=8, sent=172).untouched_fits
    assert forecast_request(chat, stop=8, sent=165).window.prompt == 165


def test_an_empty_chat_and_the_first_request():
    assert forecast_request(Chat(()), stop=0, sent=3, overhead=3, room=10).window.prompt == 3
    first = forecast_request(Chat((("user", 5),)), stop=1, sent=8, overhead=3, room=10)
    assert first.untouched == first.window == first.sent == PromptForecast(prompt=8, repeated=0)


@given(chats(), st.integers(10, 400), st.integers(0, 500), st.integers(0, 20), st.booleans())
def test_repeated_is_never_more_than_the_prompt(chat, room, sent, start, fresh):
    stop = len(chat.messages)
    made = forecast_request(
        chat, stop=stop, sent=sent, room=room, start=min(start, stop), fresh_cut=fresh
    )
    for one in (made.sent, made.untouched, made.window):
        assert 0 <= one.repeated <= one.prompt
