"""The one logger of the library; silent until an application listens."""

from __future__ import annotations

import logging
import traceback

logger = logging.getLogger("eunoe")
logger.addHandler(logging.NullHandler())

_FRAMES_LOGGED = 4


def log_fault(error: BaseException, then: str, what: str = "") -> None:
    """One line on a fault, without the error's own words: they may quote a message.

    Args:
        then: what becomes of the request.
        what: happened; ``fault_name`` of the error where it is left out.
    """
    frames = reversed(traceback.extract_tb(error.__traceback__)[-_FRAMES_LOGGED:])
    where = ", ".join(f"{frame.name}:{frame.lineno}" for frame in frames)
    logger.warning("eunoe %s in %s; %s", what or fault_name(error), where, then)


def fault_name(error: BaseException) -> str:
    """What happened, in words that quote nothing."""
    return f"failed ({type(error).__name__})"
