"""The two other ways to send a chat, untouched and through a plain window, from its running sums.

All in O(log n): a request is compared with the one before it in the same turns, and what both begin
with is what a prompt cache can give back.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from eunoe.stages.accounting.forecast import PromptForecast, RequestForecast


class ChatColumns(Protocol):
    """**Protocol:** a chat as running sums; ``stages.window.Timeline`` is one."""

    @property
    def tokens(self) -> NDArray[np.int64]:
        """Shape (n + 1,): tokens of all messages before each place."""
        ...

    @property
    def system_tokens(self) -> NDArray[np.int64]:
        """Shape (n + 1,): the same for system messages alone."""
        ...

    @property
    def turn_starts(self) -> NDArray[np.int64]:
        """Places where a turn begins, ascending."""
        ...

    @property
    def requests(self) -> NDArray[np.int64]:
        """Places before which a model call was made, ascending."""
        ...


def forecast_request(
    line: ChatColumns,
    *,
    stop: int,
    sent: int,
    overhead: int = 0,
    room: int | None = None,
    start: int = 0,
    fresh_cut: bool = False,
) -> RequestForecast:
    """Compare a request with an untouched chat and a plain window.

    Args:
        line: the chat up to this request, at least.
        stop: the request; its messages are ``[0, stop)``.
        sent: tokens of the list that goes out, tools and framing included.
        overhead: of these, tools and the framing of the list; every list has them.
        room: tokens that messages may take; None without a limit.
        start: where the window begins in what is sent.
        fresh_cut: the list does not begin with the one before it (a declared cut).

    Returns:
        The forecast. The prefix that an append-only list shares with the one before it is all of
        the one before; a list whose start moved shares tools and the system messages before its
        old start; one that begins where a plain window does is taken for that. ``with_repeated``
        takes what is known better.

    Note:
        O(log n): binary searches over the sums.
    """
    before = _request_before(line, stop)
    whole = overhead + int(line.tokens[stop])
    untouched = PromptForecast(
        prompt=whole, repeated=0 if before is None else overhead + int(line.tokens[before])
    )
    window, window_start = _plain_window(line, stop, before, overhead, room)
    if before is None:
        repeated = 0
    elif fresh_cut and start == window_start:
        repeated = window.repeated
    elif fresh_cut:
        repeated = overhead + _moved_prefix(line, 0, start)
    else:
        repeated = overhead + _view_tokens(line, min(start, before), before)
    return RequestForecast(
        sent=PromptForecast(prompt=sent, repeated=min(sent, repeated)),
        untouched=untouched,
        window=window,
        untouched_fits=room is None or whole <= room + overhead,
    )


def _plain_window(
    line: ChatColumns, stop: int, before: int | None, overhead: int, room: int | None
) -> tuple[PromptForecast, int]:
    """The window that is chosen anew at each request, and where it begins now."""
    start = _newest_start(line, room, stop)
    prompt = overhead + _view_tokens(line, start, stop)
    if before is None:
        return PromptForecast(prompt=prompt, repeated=0), start
    earlier = _newest_start(line, room, before)
    if earlier == start:
        repeated = overhead + _view_tokens(line, start, before)
    else:
        repeated = overhead + _moved_prefix(line, earlier, start)
    return PromptForecast(prompt=prompt, repeated=min(prompt, repeated)), start


def _request_before(line: ChatColumns, stop: int) -> int | None:
    """The place of the newest model call before this one; None for the first."""
    found = int(np.searchsorted(line.requests, stop, side="left"))
    return int(line.requests[found - 1]) if found else None


def _view_tokens(line: ChatColumns, start: int, stop: int) -> int:
    """Tokens of ``[start, stop)`` and of the system messages before it."""
    return int(line.system_tokens[start] + line.tokens[stop] - line.tokens[start])


def _moved_prefix(line: ChatColumns, earlier: int, start: int) -> int:
    """Tokens that two views share whose starts differ: the system messages up to the first other.

    Both begin with the system messages before ``earlier``; those that stand directly at it are in
    the later view, too, before anything else.
    """
    first = int(line.tokens[earlier] - line.system_tokens[earlier])

    def others(place: int) -> int:
        return int(line.tokens[place] - line.system_tokens[place])

    places = range(earlier, start + 1)
    end = bisect_right(places, first, key=others) - 1
    return int(line.system_tokens[places[end]])


def _newest_start(line: ChatColumns, room: int | None, stop: int) -> int:
    """The earliest turn start whose view fits in the room; the current turn's if none does.

    What lies before a turn start and is no system message only grows with the turns, so a binary
    search finds the first that leaves little enough.
    """
    if room is None:
        return 0
    starts = line.turn_starts
    turns = int(np.searchsorted(starts, max(stop, 1), side="left"))
    if not turns:
        return 0
    needed = int(line.tokens[stop]) - room

    def left_out(k: int) -> int:
        place = int(starts[k])
        return int(line.tokens[place] - line.system_tokens[place])

    found = bisect_left(range(turns), needed, key=left_out)
    return int(starts[min(found, turns - 1)])
