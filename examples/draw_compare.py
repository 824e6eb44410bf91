"""Draw examples/images/compare.svg: `eunoe compare` and the needed facts of the long chat.

    python examples/draw_compare.py

Nothing in the picture is typed in: every number comes from the command's JSON and from
needed_facts.py. CPU times are left out, so that the picture is the same on every machine.
"""

from __future__ import annotations

import contextlib
import io
import json
from html import escape
from pathlib import Path
from typing import Any

from needed_facts import facts_there

from eunoe_cli.__main__ import main as run_eunoe

HOME = Path(__file__).resolve().parent
TARGET = HOME / "images" / "compare.svg"
WIDTH, ROW, TOP = 900, 44, 96
BAR_LEFT, BAR_WIDTH = 160, 260
INK, FAINT, PLAIN, OURS = "#1f2328", "#656d76", "#b6bec8", "#2f6f5e"
COLUMNS = (
    (540, "tokens sent"),
    (630, "repeated"),
    (750, "over the budget"),
    (880, "needed facts sent"),
)


def compare(path: Path) -> dict[str, Any]:
    """What `eunoe compare PATH --json` prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        run_eunoe(["compare", str(path), "--json"])
    found: dict[str, Any] = json.loads(out.getvalue())
    return found


def text(x: float, y: float, content: str, *, size: int = 14, more: str = "") -> str:
    return f'<text x="{x:g}" y="{y:g}" font-size="{size}" {more}>{escape(content)}</text>'


def draw(compared: dict[str, Any], facts: dict[str, str]) -> str:
    """The picture: one row a policy, its cost as a bar, the other numbers beside it."""
    chat, rows = compared["chats"][0], compared["all"]
    longest = max(row["cost"] for row in rows.values())
    height = TOP + ROW * len(rows) + 40
    faint = f'fill="{FAINT}"'
    right = f'text-anchor="end" {faint}'
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
            f'viewBox="0 0 {WIDTH} {height}" font-family="system-ui, sans-serif" fill="{INK}" '
            'role="img" aria-labelledby="t">'
        ),
        '<title id="t">What one long chat costs under five policies</title>',
        f'<rect width="{WIDTH}" height="{height}" rx="8" fill="#ffffff"/>',
        text(
            20,
            34,
            f"One chat, {chat['messages']} messages, {chat['requests']} model calls, "
            f"budget {chat['budget']:,} tokens",
            size=18,
            more='font-weight="600"',
        ),
        text(
            BAR_LEFT,
            76,
            "input price, untouched = 1",
            size=12,
            more=faint,
        ),
        *[text(x, 76, title, size=12, more=right) for x, title in COLUMNS],
    ]
    for i, (label, row) in enumerate(rows.items()):
        y = TOP + ROW * i
        length = max(2.0, BAR_WIDTH * row["cost"] / longest)
        ours = label.startswith("eunoe")
        weight = 'font-weight="600"' if ours else ""
        over = row["over"]
        values = (
            f"{row['sent'] / 1000:,.0f} k",
            f"{100 * row['repeated_share']:.0f} %",
            f"{over} of {row['requests']}" if over else "never",
            facts[label],
        )
        parts += [
            text(20, y + 19, label, more=weight),
            (
                f'<rect x="{BAR_LEFT}" y="{y}" width="{length:.1f}" height="28" rx="3" '
                f'fill="{OURS if ours else PLAIN}"/>'
            ),
            text(BAR_LEFT + length + 8, y + 19, f"{row['cost']:.2f}", more=weight),
            *[
                text(x, y + 19, value, more='text-anchor="end"')
                for (x, _), value in zip(COLUMNS, values, strict=True)
            ],
        ]
    parts.append(
        text(
            20,
            height - 16,
            f"eunoe compare examples/{chat['name']}; examples/needed_facts.py",
            size=12,
            more=faint,
        )
    )
    return "\n".join([*parts, "</svg>", ""])


def main() -> None:
    """Draw the picture anew."""
    TARGET.write_text(draw(compare(HOME / "long_chat.json"), facts_there()), encoding="utf-8")
    print(TARGET.relative_to(HOME.parent))


if __name__ == "__main__":
    main()
