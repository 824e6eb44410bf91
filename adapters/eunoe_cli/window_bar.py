"""A bar that shows what fills the window."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eunoe import OrchestratorResult

_PARTS = (
    ("S", "system", "system"),
    ("T", "tools", "tools"),
    ("M", "summary", "summarised"),
    ("H", "window", "history"),
    ("R", "recalled", "recalled"),
    ("Q", "question", "this turn"),
    (".", "free", "free"),
)


def window_parts(result: OrchestratorResult) -> dict[str, int]:
    """Tokens of what is sent, by what it is; ``free`` is what the budget leaves."""
    from eunoe.pipeline.arranging.sent_parts import tokens_by_part

    report = result.report
    found = tokens_by_part(result.placements, report)
    found["free"] = max(0, report.budget - report.tokens_after)
    return {name: found.get(part, 0) for _, part, name in _PARTS}


def draw_window(result: OrchestratorResult, width: int) -> list[str]:
    """Two lines: the bar, and what its letters mean."""
    sizes = window_parts(result)
    whole = max(1, sum(sizes.values()))
    room = max(10, width - 9)
    cells, drawn, passed = [], 0, 0
    for mark, _, name in _PARTS:
        passed += sizes[name]
        until = max(round(room * passed / whole), drawn + (sizes[name] > 0))
        cells.append(mark * (until - drawn))
        drawn = until
    legend = [f"{mark} {name} {sizes[name]:,}" for mark, _, name in _PARTS if sizes[name]]
    return [f"window {''.join(cells)[:room]}", f"       {', '.join(legend)} tokens"]
