"""Chats as presets see them, from plain lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from eunoe.pipeline.policies.presets.chat import PresetChat
from eunoe.stages.scoring.adjusting import ADJUST_ANSWER, ADJUST_QUESTION, ADJUST_TOOL
from eunoe.stages.scoring.analysis import analyse_text
from eunoe.stages.scoring.term_rows import TermRows

KINDS = {"user": ADJUST_QUESTION, "assistant": ADJUST_ANSWER, "tool": ADJUST_TOOL}


def preset_chat(
    lines: Sequence[tuple[str, str]],
    question: str,
    *,
    room: int = 1_000,
    cost: Sequence[int] | int = 1,
    holder: Sequence[int] | None = None,
    **more: Any,
) -> PresetChat:
    """A chat of (role, text); each message is an atom, each user message opens a turn."""
    analyses = [analyse_text(text, role=role) for role, text in lines]
    query = analyse_text(question, role="user")
    rows = TermRows()
    for analysis in analyses:
        rows.append(analysis)
    size = len(lines)
    turn = np.maximum(0, np.cumsum([role == "user" for role, _ in lines]) - 1)
    held = np.arange(size) if holder is None else np.array(holder)
    atoms = int(held.max()) + 1 if size else 0
    given: dict[str, Any] = {
        "base": np.ones(size),
        "open": np.ones(atoms, dtype=bool),
        "cost": np.full(atoms, cost) if isinstance(cost, int) else np.array(cost),
    }
    given.update(more)
    return PresetChat(
        analyses=analyses,
        query=query,
        matrix=rows.matrix(),
        asked=rows.column(query.terms, query.counts),
        kinds=np.array([KINDS.get(role, 0) for role, _ in lines], dtype=np.int8),
        turn=turn.astype(np.int64),
        holder=held.astype(np.int64),
        first=np.array([int(np.flatnonzero(held == k)[0]) for k in range(atoms)], dtype=np.int64),
        room=room,
        **given,
    )


def talk(*texts: str) -> list[tuple[str, str]]:
    """User and assistant by turns."""
    return [("assistant" if i % 2 else "user", text) for i, text in enumerate(texts)]


def asked(*texts: str) -> list[tuple[str, str]]:
    """User messages only, each a turn."""
    return [("user", text) for text in texts]
