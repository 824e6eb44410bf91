"""What a request sends, and what an untouched chat and a plain window would have sent in its place.

All from the running sums of the chat, in O(log n): a request is compared with the one before it in
the same turns, and what both begin with is what a prompt cache can give back. Estimates, all of it,
until usage is reported; what was never sent stays one for ever.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from eunoe.stages.accounting.price import ModelPrice, TokenUse


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


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptForecast:
    """A prompt before it is sent: its tokens, and how many of them open the prompt before it."""

    prompt: int
    repeated: int

    def use(
        self,
        price: ModelPrice | None,
        *,
        caching: bool = True,
        scale: float = 1.0,
        hit_share: float = 1.0,
    ) -> TokenUse:
        """The use to expect.

        Args:
            price: says from where on a prefix is cached, and whether writing is charged.
            caching: whether the provider caches this chat at all.
            scale: provider's tokens per token of ours.
            hit_share: part of a repeated prefix that the cache gives back, in [0, 1].
        """
        prompt = round(self.prompt * scale)
        cached = min(prompt, round(self.repeated * scale * hit_share)) if caching else 0
        if price is not None and cached < price.cache_from:
            cached = 0
        writes = caching and price is not None and price.write is not None
        writes = writes and price is not None and prompt >= price.cache_from
        return TokenUse.of(prompt, cached, prompt - cached if writes else 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestForecast:
    """One request: what is sent, and what two others would have sent for the same turns.

    Attributes:
        sent: the list that goes out.
        untouched: the whole chat, nothing cut.
        window: the newest turns that fit the same room, chosen anew at each request.
        untouched_fits: whether the whole chat is within the limit of the request; where it is not,
            it may not have been possible to send it at all.
    """

    sent: PromptForecast
    untouched: PromptForecast
    window: PromptForecast
    untouched_fits: bool = True

    def with_repeated(self, tokens: int | None) -> RequestForecast:
        """The same, with the repeated prefix of what is sent known; None leaves it as it is."""
        if tokens is None:
            return self
        known = min(max(0, tokens), self.sent.prompt)
        return replace(self, sent=replace(self.sent, repeated=known))

    def with_unchanged(self, tokens: int | None) -> RequestForecast:
        """The same where the chat goes on from only so many tokens of what was given before.

        What its owner changes is read anew whatever is sent of it: the two other ways lose it, too.
        None leaves it as it is.
        """
        if tokens is None:
            return self

        def bounded(prompt: PromptForecast) -> PromptForecast:
            return replace(prompt, repeated=min(prompt.repeated, max(0, tokens)))

        return replace(self, untouched=bounded(self.untouched), window=bounded(self.window))

    def with_left_out(self, tokens: int) -> RequestForecast:
        """The same for a chat that was handed over without ``tokens`` of its earlier messages.

        A host may go on from what was sent before, so that the chat as it is given lacks what an
        untouched one would still have.
        """
        more = max(0, tokens)
        first = not self.untouched.repeated
        return replace(
            self,
            untouched=PromptForecast(
                prompt=self.untouched.prompt + more,
                repeated=0 if first else self.untouched.repeated + more,
            ),
        )

    def with_more_tokens(self, tokens: int, *, again: bool) -> RequestForecast:
        """The same with ``tokens`` more in the newest message, whatever else is sent.

        Args:
            again: the request before this one had them, too; what is sent has them in its repeated
                prefix already if that is known.
        """
        more = max(0, tokens)

        def grown(prompt: PromptForecast, *, known: bool) -> PromptForecast:
            repeated = prompt.repeated + (more if again and prompt.repeated and not known else 0)
            return PromptForecast(prompt=prompt.prompt + more, repeated=repeated)

        return replace(
            self,
            sent=grown(self.sent, known=True),
            untouched=grown(self.untouched, known=False),
            window=grown(self.window, known=False),
        )

    def to_json(self) -> list[int]:
        """Plain form, for a host's notes on a turn."""
        pairs = (self.sent, self.untouched, self.window)
        return [n for p in pairs for n in (p.prompt, p.repeated)] + [int(self.untouched_fits)]

    @classmethod
    def from_json(cls, value: object) -> RequestForecast | None:
        """Read the plain form; None from anything else."""
        if not isinstance(value, list | tuple) or len(value) != 7:
            return None
        if not all(type(n) is int and n >= 0 for n in value):
            return None
        sent, untouched, window = (
            PromptForecast(prompt=value[k], repeated=value[k + 1]) for k in (0, 2, 4)
        )
        fits = bool(value[6])
        return cls(sent=sent, untouched=untouched, window=window, untouched_fits=fits)


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


def provider_forecast(
    forecast: RequestForecast, extra: int, factor: float, window: int = 0
) -> RequestForecast:
    """The forecast in the provider's tokens, with what the host adds in front of every list.

    An untouched chat that the model cannot hold would not have been answered, nor paid: of it only
    what the model holds counts, so that no saving is claimed on more.

    Args:
        forecast: by our count, of the list that we return.
        extra: tokens of the model's own system prompt.
        factor: provider's tokens for each of ours.
        window: tokens that the model holds; 0 if unknown.
    """

    def charged(prompt: PromptForecast) -> PromptForecast:
        repeated = prompt.repeated + extra if prompt.repeated else 0
        return PromptForecast(
            prompt=math.ceil((prompt.prompt + extra) * factor),
            repeated=math.ceil(repeated * factor),
        )

    return RequestForecast(
        sent=charged(forecast.sent),
        untouched=_within_window(charged(forecast.untouched), window),
        window=charged(forecast.window),
        untouched_fits=forecast.untouched_fits,
    )


def _within_window(prompt: PromptForecast, window: int) -> PromptForecast:
    if not window or prompt.prompt <= window:
        return prompt
    return PromptForecast(prompt=window, repeated=min(prompt.repeated, window))


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
