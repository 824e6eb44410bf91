"""A bar that shows what fills the window."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eunoe import OrchestratorResult

_PARTS = (
    ("S", "system"),
    ("T", "tools"),
    ("H", "history"),
    ("R", "recalled"),
    ("Q", "this turn"),
    (".", "free"),
)


def window_parts(result: OrchestratorResult) -> dict[str, int]:
    """Tokens of what is sent, by what it is; ``free`` is what the budget leaves."""
    from eunoe.stages.counting.message_cost import count_messages_batch
    from eunoe.stages.counting.tokenizer import find_tokenizer
    from eunoe.wire.openai import read_message

    report = result.report
    sent = [read_message(p.message) for p in result.placements]
    last = max((i for i, m in enumerate(sent) if m.role == "user"), default=len(sent))
    sizes = dict.fromkeys((name for _, name in _PARTS), 0)
    counts = count_messages_batch(sent, find_tokenizer("o200k"))
    for i, (placement, message, count) in enumerate(
        zip(result.placements, sent, counts, strict=True)
    ):
        part = "history" if i < last else "this turn"
        if message.is_system:
            part = "system"
        elif placement.index is None:
            part = "recalled"
        sizes[part] += count
    sizes["tools"] = report.tool_tokens
    sizes["free"] = max(0, report.budget - report.tokens_after)
    return sizes


def draw_window(result: OrchestratorResult, width: int) -> list[str]:
    """Two lines: the bar, and what its letters mean."""
    sizes = window_parts(result)
    whole = max(1, sum(sizes.values()))
    room = max(10, width - 9)
    cells, drawn, passed = [], 0, 0
    for mark, name in _PARTS:
        passed += sizes[name]
        until = max(round(room * passed / whole), drawn + (sizes[name] > 0))
        cells.append(mark * (until - drawn))
        drawn = until
    legend = [f"{mark} {name} {sizes[name]:,}" for mark, name in _PARTS if sizes[name]]
    return [f"window {''.join(cells)[:room]}", f"       {', '.join(legend)} tokens"]
