"""A chat request by request, and what of a view must stand in the next one."""

from __future__ import annotations

from ask import bytes_of
from eunoe import OrchestratorResult
from judge import Raw, is_blank, result_ids, said


def requests_of(messages: list[Raw]) -> list[int]:
    """Places before which a model call is made: before each answer, and at the end."""
    return [i for i, m in enumerate(messages) if i and m["role"] == "assistant"] + [len(messages)]


def asks(message: Raw) -> bool:
    """A question of the user; approvals, and pictures that a host shows after results, are none."""
    return (
        message["role"] == "user"
        and not is_blank(message)
        and not result_ids(message)
        and "tool results above" not in said(message)
        and "mcp_approval_response" not in bytes_of(message)
    )


def lasting(messages: list[Raw], result: OrchestratorResult) -> list[str]:
    """The view without the question and what was quoted for it.

    A window that was shrunk for one question's recall grows back at the next one.
    """
    asked = [i for i, m in enumerate(messages) if asks(m)]
    kept = []
    for placement in result.placements:
        if asked and placement.index is not None and placement.index >= asked[-1]:
            break
        kept.append(placement)
    while kept and kept[-1].index is None and kept[-1].message["role"] == "user":
        kept.pop()
    return [bytes_of(placement.message) for placement in kept]
