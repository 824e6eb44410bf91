"""Known chats are found by what they hold; the bound holds whenever no request is running."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from eunoe.pipeline.chat.chat_memory import ChatMemory
from eunoe.pipeline.chat.memory import ContentMemory
from eunoe.pipeline.chat.transcript import Transcript
from strategies import assistant, user

CONTENTS = ContentMemory(10_000_000)
NAME = "a counter"


def turns(words: str) -> list[dict[str, str]]:
    """A chat with a finished turn for each letter."""
    return [m for word in words for m in (user(word), assistant("ok"))]


def keep(chats: ChatMemory[Transcript], words: str) -> Transcript:
    """A request that knows these turns afterwards."""
    entries = CONTENTS.read_all(turns(words))
    state = chats.find(entries, NAME, lambda: Transcript(NAME))
    state.grow(entries[len(state.entries) :])
    chats.release(state)
    return state


def found(chats: ChatMemory[Transcript], words: str) -> int | None:
    """How many messages of a chat are known, if something is; the state is given back."""
    state = chats.find_given(turns(words), NAME)
    if state is None:
        return None
    chats.release(state)
    return len(state.entries)


CHATS = st.text("ab", min_size=1, max_size=5)


@given(kept=st.lists(CHATS, max_size=8), asked=CHATS)
def test_the_longest_known_opening_is_found(kept, asked):
    chats: ChatMemory[Transcript] = ChatMemory(10_000_000)
    states = [keep(chats, words) for words in kept]
    sizes = {
        len(s.entries)
        for s in states
        if s.entries == CONTENTS.read_all(turns(asked))[: len(s.entries)]
    }
    assert found(chats, asked) == max((n for n in sizes if n < 2 * len(asked)), default=None)


@given(kept=st.lists(CHATS, min_size=1, max_size=12), most=st.integers(1, 5))
def test_the_bounds_hold_when_a_request_has_ended(kept, most):
    one = keep(ChatMemory(10_000_000), "a").bytes
    by_bytes: ChatMemory[Transcript] = ChatMemory(most * one)
    by_number: ChatMemory[Transcript] = ChatMemory(10_000_000, max_chats=most)
    for words in kept:
        last = keep(by_bytes, words)
        assert by_bytes.accounted_bytes <= max(most * one, last.bytes)
        assert found(by_bytes, f"{words}c") == len(last.entries)
        last = keep(by_number, words)
        assert by_number.accounted_bytes <= most * 5 * one
        assert found(by_number, f"{words}c") == len(last.entries)


def test_the_chat_that_was_used_last_stays():
    chats: ChatMemory[Transcript] = ChatMemory(10_000_000, max_chats=2)
    keep(chats, "a")
    keep(chats, "b")
    assert found(chats, "ax") == 2
    keep(chats, "c")
    assert found(chats, "ax") == 2
    assert found(chats, "bx") is None


def test_a_chat_that_is_in_use_is_not_given_away():
    chats: ChatMemory[Transcript] = ChatMemory(10_000_000)
    keep(chats, "a")
    used = chats.find_given(turns("ab"), NAME)
    assert used is not None
    assert chats.find_given(turns("ab"), NAME) is None
    used.grow(CONTENTS.read_all(turns("b")))
    chats.release(used)
    assert found(chats, "abc") == 4
    assert found(chats, "ax") is None


def test_another_chat_with_the_same_end_is_put_back():
    chats: ChatMemory[Transcript] = ChatMemory(10_000_000)
    keep(chats, "ba")
    assert found(chats, "aax") is None
    assert found(chats, "bax") == 4


def test_what_another_counter_counted_is_not_found():
    chats: ChatMemory[Transcript] = ChatMemory(10_000_000)
    keep(chats, "a")
    assert chats.find_given(turns("ab"), "another") is None


def test_a_chat_in_use_that_was_forgotten_stays_so():
    chats: ChatMemory[Transcript] = ChatMemory(10_000_000, max_chats=1)
    keep(chats, "a")
    used = chats.find_given(turns("ab"), NAME)
    assert used is not None
    keep(chats, "c")
    chats.release(used)
    assert found(chats, "ax") is None
    assert found(chats, "cx") == 2
    assert chats.accounted_bytes == keep(ChatMemory(10_000_000), "c").bytes
