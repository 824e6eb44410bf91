"""The one logger of the library; silent until an application listens."""

from __future__ import annotations

import logging
import traceback

logger = logging.getLogger("eunoe")
logger.addHandler(logging.NullHandler())

_FRAMES_LOGGED = 4


def log_fault(error: BaseException, what: str, then: str) -> None:
    """One line on a fault, without the error's own words: they may quote a message.

    Args:
        what: happened, such as "failed (KeyError)".
        then: what becomes of the request.
    """
    frames = reversed(traceback.extract_tb(error.__traceback__)[-_FRAMES_LOGGED:])
    where = ", ".join(f"{frame.name}:{frame.lineno}" for frame in frames)
    logger.warning("eunoe %s in %s; %s", what, where, then)


def fault_name(error: BaseException) -> str:
    """What happened, in words that quote nothing."""
    return f"failed ({type(error).__name__})"
