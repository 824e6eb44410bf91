"""Where the recent window begins: a pure function of the history, found by replaying its requests.

At each request the window is sent whole while it fits; when it passes the high mark it is cut, in
one step, to the low mark, at the start of a turn. Between cuts it only grows, so each view is a
prefix of the next, which is what a prompt cache needs. Nothing is stored: any worker finds the same
cut. Source: water marks, as in Anthropic's ``clear_at_least`` for tool results.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from eunoe.domain.budget import LEAST_CACHED_TOKENS

IntArray = NDArray[np.int64]

ACTING_SHARE = 0.25
"""Share of calls and results among the messages from which on a chat acts more than it talks."""


@dataclass(frozen=True, eq=False)
class Timeline:
    """A chat as the window sees it.

    Attributes:
        tokens: (n + 1,), tokens of all messages before each place.
        system_tokens: (n + 1,), the same for system messages alone; they are always sent.
        turn_starts: places where a turn begins, ascending; the first is 0 if there are messages.
        requests: places before which a model call was made (an assistant message stands there).
        tool_flow: messages that are calls or results before each place of the finished turns; None
            if there are none.
    """

    tokens: IntArray
    system_tokens: IntArray
    turn_starts: IntArray
    requests: IntArray
    tool_flow: IntArray | None = None

    @cached_property
    def own_before_turns(self) -> IntArray:
        """Tokens before each turn start, system messages apart; ascending."""
        return self.tokens[self.turn_starts] - self.system_tokens[self.turn_starts]

    def acts_before(self, place: int) -> bool:
        """Whether at least a quarter of the messages before a place are calls or results."""
        if self.tool_flow is None:
            return False
        return int(self.tool_flow[place]) >= max(1.0, ACTING_SHARE * place)

    def used(self, start: int, stop: int) -> int:
        """Tokens of a view: system messages before ``start``, and all of ``[start, stop)``."""
        return int(self.system_tokens[start] + self.tokens[stop] - self.tokens[start])


@dataclass(frozen=True, slots=True, kw_only=True)
class WaterMarks:
    """When to cut and how deep.

    Attributes:
        room: tokens for messages (the budget less tools, framing and what is pinned).
        high: share of the room at which the window is cut, in (0, 1].
        low: share of the room beside the system messages that a cut leaves, in (0, 1).
        extra: tokens that stand in the view beside the messages, such as recalled text.
        reserve: tokens that the window leaves free below the high mark, for recalled text.
        carry: share of the room beside the system messages that is left for what a cut carries
            over, in [0, 1); it replaces the reserve where the chat acts through tools.
    """

    room: int
    high: float
    low: float
    extra: int = 0
    reserve: int = 0
    carry: float = 0.0

    def top(self, carried: int, start: int) -> int:
        """Tokens of messages above which a window from ``start`` is cut, beside what is carried.

        A window that holds the whole chat leaves nothing to recall, so it needs no reserve.
        """
        aside = self.extra + carried if carried else max(self.extra, self.reserve * (start > 0))
        return int(self.room * self.high) - aside

    def carried(self, timeline: Timeline, start: int) -> int:
        """Tokens left for what a cut at ``start`` carries over; 0 unless tools act before it."""
        if not timeline.acts_before(start):
            return 0
        return max(0, int((self.room - int(timeline.system_tokens[start])) * self.carry))


@dataclass(frozen=True, slots=True)
class WindowStart:
    """The window begins at ``start``; ``fresh`` if the cut was made for this very request.

    ``settled`` is the last cut made for an earlier request: where the window began from then on,
    and the place of that request. A replay for a later request may go on from there.
    """

    start: int
    fresh: bool
    fits: bool
    settled: tuple[int, int] = field(default=(0, 0), compare=False)


def replay_window(
    timeline: Timeline, marks: WaterMarks, *, start: int, after: int, stop: int
) -> WindowStart:
    """The start of the window for the request at ``stop``, given its start at place ``after``.

    Args:
        start: where the window begins at first; a turn start.
        after: requests at or before this place are taken as settled.
        stop: the request in question; the view is ``[start, stop)``.

    Returns:
        The start (a turn start, at most the current turn's), whether it was cut for this request,
        and whether the view then fits in the room.

    Note:
        O(cuts × log n): each cut is found by binary search.
    """
    place, fresh = after, False
    settled = (start, after)
    requests = timeline.requests
    while True:
        top = marks.top(marks.carried(timeline, start), start)
        limit = top - int(timeline.system_tokens[start]) + int(timeline.tokens[start])
        over = int(timeline.tokens.searchsorted(limit, side="right"))
        nxt = int(requests.searchsorted(max(over, place + 1), side="left"))
        request = int(requests[nxt]) if nxt < len(requests) else stop
        request = min(request, stop)
        if request < over or request <= place:
            break
        moved = _cut_to_low(timeline, marks, start, request)
        fresh = fresh or (moved != start and request == stop)
        place = request
        if request < stop and moved != start:
            settled = (moved, request)
        if moved == start:
            later = _next_turn_request(timeline, request, stop)
            if later is None:
                break
            place = later - 1
        start = moved
        if request >= stop:
            break
    used = timeline.used(start, stop) + marks.carried(timeline, start)
    return WindowStart(start, fresh, used <= marks.room - marks.extra, settled)


def _cut_to_low(timeline: Timeline, marks: WaterMarks, start: int, request: int) -> int:
    """The earliest turn start that leaves no more than the low mark; at most the current turn's.

    The turn before the current one stays even above the low mark, if that leaves half of the way
    to the high mark free: what was said last is what the next question most often speaks of. In a
    room too small for any prompt cache the cut is as shallow as it can be.
    """
    starts = timeline.turn_starts
    current = max(0, int(starts.searchsorted(request, side="left")) - 1)
    carried = marks.carried(timeline, int(starts[current]))
    head = int(timeline.system_tokens[request])
    free = marks.room - marks.extra - carried - head
    top = marks.top(carried, int(starts[current]))
    low = top if marks.room < LEAST_CACHED_TOKENS else head + int(free * marks.low)
    needed = int(timeline.tokens[request]) - low
    found = min(int(timeline.own_before_turns.searchsorted(needed, side="left")), current)
    if found == current > 0:
        before = timeline.used(int(starts[current - 1]), request)
        found -= before <= (low + top) // 2
    return max(start, int(starts[found]))


def foreseen_cut(timeline: Timeline, marks: WaterMarks, start: int) -> int | None:
    """A turn start that the next cut of a window from ``start`` will not stay before.

    It follows from the water marks alone, so it is known long before the window is full.

    Returns:
        None as long as the turns that the cut leaves are not all there.
    """
    carried = marks.carried(timeline, start)
    top = marks.top(carried, start)
    head = int(timeline.system_tokens[start])
    free = marks.room - marks.extra - carried - head
    low = top if marks.room < LEAST_CACHED_TOKENS else head + int(free * marks.low)
    full = top - head + int(timeline.tokens[start] - timeline.system_tokens[start])
    found = int(timeline.own_before_turns.searchsorted(full - (low - head), side="left"))
    if found >= len(timeline.turn_starts):
        return None
    place = int(timeline.turn_starts[found])
    return place if place > start else None


def _next_turn_request(timeline: Timeline, request: int, stop: int) -> int | None:
    """The first request of the next turn, where a further cut can help again; None if none is."""
    starts, requests = timeline.turn_starts, timeline.requests
    nxt = int(np.searchsorted(starts, request, side="left"))
    if nxt >= len(starts) or int(starts[nxt]) >= stop:
        return None
    place = int(np.searchsorted(requests, int(starts[nxt]), side="right"))
    return min(int(requests[place]), stop) if place < len(requests) else stop


def newest_that_fit(timeline: Timeline, room: int, stop: int) -> int:
    """The earliest turn start whose view fits in the room; the current turn's if none does."""
    starts = timeline.turn_starts
    starts = starts[starts < max(stop, 1)]
    if not len(starts):
        return 0
    used = timeline.system_tokens[starts] + timeline.tokens[stop] - timeline.tokens[starts]
    fitting = np.flatnonzero(used <= room)
    return int(starts[fitting[0]]) if len(fitting) else int(starts[-1])
