"""Who counts the tokens of a request: the caller's counter, or our own where that fails."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from eunoe.domain.errors import CounterFaultError
from eunoe.domain.log import logger
from eunoe.domain.ports import TokenCounter
from eunoe.stages.counting.checked import checked_counter

Answered = TypeVar("Answered")


def answer_by_counter(
    given: TokenCounter | None,
    own: Callable[[], TokenCounter],
    answer: Callable[[TokenCounter, tuple[str, ...]], Answered],
) -> Answered:
    """Answer a request with all of its tokens counted by one counter.

    A counter that fails on the way counts for nothing in this request: half of its counts beside
    half of ours would add up to nobody's, and ours must not be remembered under its name.

    Args:
        given: the caller's; None for our own.
        own: ours.
        answer: the request, with what counts and what the report should warn of.
    """
    if given is None:
        return answer(own(), ())
    try:
        return answer(checked_counter(given), ())
    except CounterFaultError as fault:
        logger.warning("The token counter failed (%s): our own counts instead", fault)
        return answer(own(), (f"the token counter failed ({fault}): our own counted instead",))
