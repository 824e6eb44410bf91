from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eunoe.domain.budget import LEAST_CACHED_TOKENS
from eunoe.stages.window import (
    Timeline,
    WaterMarks,
    foreseen_cut,
    newest_that_fit,
    replay_window,
)


def timeline(sizes, turns, requests, systems=()):
    """A chat: tokens of each message, where turns begin and calls were made, which are system."""
    system = [size if i in systems else 0 for i, size in enumerate(sizes)]
    return Timeline(
        tokens=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        system_tokens=np.concatenate([[0], np.cumsum(system)]).astype(np.int64),
        turn_starts=np.array(turns, dtype=np.int64),
        requests=np.array(requests, dtype=np.int64),
    )


def pairs(count, size=1000):
    """Turns of a question and an answer of equal size, and a last question."""
    return timeline(
        [size] * (2 * count + 1), range(0, 2 * count + 1, 2), range(1, 2 * count + 1, 2)
    )


def start_at(line, stop, room, high=1.0, low=0.4, start=0, after=0, extra=0):
    marks = WaterMarks(room=room, high=high, low=low, extra=extra)
    return replay_window(line, marks, start=start, after=after, stop=stop)


# Room 10,000 in messages of 1,000: the request at 11 would hold 11,000 tokens, so it is cut. The
# low mark leaves 4,000: the turns from 8 on hold 3,000 (8, 9, 10); from 6 on they would hold 5,000.
@pytest.mark.parametrize(
    ("stop", "start", "fresh"),
    [
        pytest.param(1, 0, False, id="first question"),
        pytest.param(9, 0, False, id="9,000 of 10,000"),
        pytest.param(11, 8, True, id="11,000 of 10,000: cut at a turn"),
        pytest.param(13, 8, False, id="5,000 of 10,000: the cut stays"),
        pytest.param(17, 8, False, id="9,000 of 10,000"),
        pytest.param(19, 16, True, id="the next cut"),
        pytest.param(27, 24, True, id="and the next"),
        pytest.param(29, 24, False, id="and it stays"),
    ],
)
def test_the_window_is_cut_in_steps(stop, start, fresh):
    found = start_at(pairs(20), stop, room=10_000)
    assert (found.start, found.fresh, found.fits) == (start, fresh, True)


@pytest.mark.parametrize(
    ("stop", "start"),
    [
        pytest.param(9, 0, id="9,000 of 10,000, and nothing to recall"),
        pytest.param(11, 8, id="11,000 of 10,000"),
        pytest.param(15, 8, id="7,000 of 8,000 beside what may come back"),
        pytest.param(17, 14, id="9,000 of 8,000"),
    ],
)
def test_room_is_kept_for_recall_once_there_is_something_to_recall(stop, start):
    marks = WaterMarks(room=10_000, high=1.0, low=0.4, reserve=2_000)
    assert replay_window(pairs(20), marks, start=0, after=0, stop=stop).start == start


def test_exactly_full_is_not_cut():
    line = timeline([1000] * 10, [0, 2, 4, 6, 8], [1, 3, 5, 7, 9])
    assert start_at(line, 10, room=10_000).start == 0
    assert start_at(line, 10, room=9_999).start > 0


def test_a_lower_high_mark_cuts_earlier():
    assert start_at(pairs(20), 9, room=10_000, high=0.9).start == 0
    found = start_at(pairs(20), 11, room=11_000, high=0.9)
    assert (found.start, found.fresh) == (8, True)


def test_what_stands_beside_the_messages_takes_room():
    assert start_at(pairs(20), 9, room=10_000, extra=1_000).start == 0
    found = start_at(pairs(20), 9, room=10_000, extra=1_100)
    assert (found.start, found.fresh, found.fits) == (6, True, True)


def test_system_messages_before_the_window_are_counted_and_stay():
    sizes = [3000] + [1000] * 9
    line = timeline(sizes, [0, 1, 3, 5, 7, 9], [2, 4, 6, 8], systems=[0])
    assert start_at(line, 8, room=10_000).start == 0
    # 11,000 > 10,000; the low mark lies at 3,000 + 0.4 * 7,000 = 5,800: the window may hold 2,800,
    # which is the current turn; the one before fits under half of the way, 7,900.
    found = start_at(line, 9, room=10_000)
    assert (found.start, found.fresh) == (5, True)
    assert line.used(5, 9) == 3000 + 4000


def test_the_low_mark_is_a_share_of_what_system_messages_leave():
    # 10,500 > 10,000; the mark is 3,000 + 0.4 * 7,000 = 5,800: five messages of 500 may stay.
    line = timeline([3000] + [500] * 15, [0, *range(1, 16, 2)], range(2, 16, 2), systems=[0])
    assert start_at(line, 14, room=10_000).start == 0
    assert start_at(line, 16, room=10_000).start == 11


def test_the_turn_before_the_current_one_stays_if_half_of_the_way_up_stays_free():
    # The low mark of 4,000 would leave nothing but the question. With the turn before it the window
    # holds 7,000 or 7,001, and half of the way from 4,000 to 10,000 is 7,000.
    line = timeline([1000, 1000, 3000, 3000, 1000, 5000, 1000], [0, 2, 4, 6], [1, 3, 5])
    assert line.used(4, 7) == 7000
    assert start_at(line, 7, room=10_000).start == 4
    more = timeline([1000, 1000, 3000, 3000, 1000, 5001, 1000], [0, 2, 4, 6], [1, 3, 5])
    assert start_at(more, 7, room=10_000).start == 6


def test_in_a_room_too_small_for_a_prompt_cache_cuts_are_shallow():
    small = timeline([10] * 41, range(0, 41, 2), range(1, 41, 2))
    assert start_at(small, 11, room=100).start == 2
    assert start_at(small, 13, room=100).start == 4
    assert start_at(small, 13, room=100).fresh
    sizes = [LEAST_CACHED_TOKENS // 10] * 41
    line = timeline(sizes, range(0, 41, 2), range(1, 41, 2))
    assert start_at(line, 11, room=LEAST_CACHED_TOKENS - 1).start == 2
    assert start_at(line, 11, room=LEAST_CACHED_TOKENS).start > 2


def test_a_turn_that_cannot_be_cut_is_left_until_the_next_one():
    line = timeline([10, 50, 50, 50, 10, 10, 10], [0, 4, 6], [1, 2, 3, 5])
    inside = start_at(line, 4, room=100)
    assert (inside.start, inside.fits) == (0, False)
    later = start_at(line, 5, room=100)
    assert (later.start, later.fresh, later.fits) == (4, True, True)
    assert start_at(line, 7, room=100).start == 4


def test_a_later_start_settles_what_was_before():
    found = start_at(pairs(20), 13, room=10_000, start=8, after=11)
    assert (found.start, found.fresh) == (8, False)
    whole = start_at(pairs(20), 19, room=10_000)
    assert start_at(pairs(20), 19, room=10_000, start=8, after=13) == whole


def test_no_room_at_all_leaves_the_current_turn():
    found = start_at(pairs(3), 7, room=0)
    assert (found.start, found.fits) == (6, False)
    assert start_at(pairs(3), 7, room=-50).start == 6


def test_an_empty_chat_has_an_empty_window():
    line = timeline([], [], [])
    assert start_at(line, 0, room=10).start == 0
    assert newest_that_fit(line, 10, 0) == 0


@pytest.mark.parametrize(
    ("room", "start"), [(1000, 0), (70, 0), (69, 2), (30, 4), (29, 6), (10, 6), (9, 6), (0, 6)]
)
def test_the_newest_turns_that_fit(room, start):
    assert newest_that_fit(pairs(3, size=10), room, 7) == start


def test_the_newest_turns_that_fit_before_a_place():
    assert newest_that_fit(pairs(3, size=10), 20, 5) == 4
    assert newest_that_fit(pairs(3, size=10), 30, 5) == 2


CHATS = st.lists(
    st.tuples(st.integers(1, 400), st.lists(st.integers(1, 400), max_size=4), st.integers(0, 200)),
    min_size=1,
    max_size=12,
)


@pytest.mark.property
@settings(max_examples=150)
@given(chat=CHATS, room=st.integers(20, 2000), low=st.integers(5, 80), high=st.integers(82, 100))
def test_one_replay_agrees_with_deciding_request_by_request(chat, room, low, high):
    sizes, turns, requests = [], [], []
    for question, steps, answer in chat:
        turns.append(len(sizes))
        sizes.append(question)
        for step in [*steps, answer]:
            requests.append(len(sizes))
            sizes.append(step + 1)
    line = timeline(sizes, turns, requests)
    marks = WaterMarks(room=room, high=high / 100, low=low / 100)
    start, after = 0, 0
    for stop in [*requests, len(sizes)]:
        whole = replay_window(line, marks, start=0, after=0, stop=stop)
        step = replay_window(line, marks, start=start, after=after, stop=stop)
        assert whole.start == step.start
        assert whole.start in turns
        assert whole.start >= start
        assert whole.fits == (line.used(whole.start, stop) <= room)
        current = max(t for t in turns if t < stop)
        if not whole.fits:
            assert whole.start == current or line.used(current, stop) > room
        if whole.start > start:
            assert whole.fresh
            assert line.used(start, stop) > int(room * (high / 100))
        start, after = whole.start, stop


# The cut of the first table: at 11 messages of 1,000 in a room of 10,000 to the turn at 8; four
# tenths stay, so six are known to go once they are there.
@pytest.mark.parametrize(("stop", "foreseen"), [(3, None), (5, None), (7, 6), (9, 6), (10, 6)])
def test_a_cut_is_foreseen_once_its_turns_are_there(stop, foreseen):
    line = timeline([1000] * stop, range(0, stop, 2), range(1, stop, 2))
    marks = WaterMarks(room=10_000, high=1.0, low=0.4)
    assert foreseen_cut(line, marks, 0) == foreseen
    assert foreseen_cut(line, marks, max(0, stop - 2) // 2 * 2) in (None, foreseen)


@pytest.mark.property
@settings(max_examples=150)
@given(chat=CHATS, room=st.integers(1024, 4000), low=st.integers(5, 80))
def test_a_foreseen_cut_comes_there_or_later(chat, room, low):
    sizes, turns, requests = [], [], []
    for question, steps, answer in chat * 3:
        turns.append(len(sizes))
        sizes.append(question)
        for step in [*steps, answer]:
            requests.append(len(sizes))
            sizes.append(step + 1)
    marks = WaterMarks(room=room, high=1.0, low=low / 100)
    start, foreseen = 0, 0
    for stop in requests:
        line = timeline(sizes[:stop], [t for t in turns if t < stop], requests)
        now = replay_window(line, marks, start=0, after=0, stop=stop).start
        if now > start:
            current = max(t for t in turns if t < stop)
            assert foreseen <= now or now >= turns[turns.index(current) - 1]
            start, foreseen = now, 0
        if (found := foreseen_cut(line, marks, start)) is not None:
            assert found in turns
            assert found > start
            foreseen = max(foreseen, found)


@pytest.mark.property
@settings(max_examples=300)
@given(
    st.lists(st.tuples(st.integers(1, 900), st.integers(1, 900)), min_size=2, max_size=40),
    st.integers(300, 4_000),
    st.integers(0, 39),
)
def test_a_replay_may_go_on_from_the_last_settled_cut(sizes, room, earlier):
    line = timeline(
        [x for pair in sizes for x in pair] + [20],
        range(0, 2 * len(sizes) + 1, 2),
        range(1, 2 * len(sizes) + 1, 2),
    )
    marks = WaterMarks(room=room, high=0.9, low=0.4, reserve=room // 10)
    first = 2 * min(earlier, len(sizes) - 1) + 1
    before = replay_window(line, marks, start=0, after=0, stop=first)
    start, after = before.settled
    whole = replay_window(line, marks, start=0, after=0, stop=2 * len(sizes) + 1)
    resumed = replay_window(line, marks, start=start, after=after, stop=2 * len(sizes) + 1)
    assert (resumed.start, resumed.fresh, resumed.fits) == (whole.start, whole.fresh, whole.fits)
