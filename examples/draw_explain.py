"""Draw examples/images/explain.svg: what `eunoe explain --plot` shows of the long chat.

    python examples/draw_explain.py

The request is Marta's question about the price of a loaf, near the end of the chat.
"""

from __future__ import annotations

import contextlib
import io
import tempfile
from pathlib import Path

from eunoe_cli.__main__ import main as run_eunoe

HOME = Path(__file__).resolve().parent
TARGET = HOME / "images" / "explain.svg"
MOMENT, BUDGET = 158, 4000


def draw() -> str:
    """The picture as text."""
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        path = str(Path(folder) / "explain.svg")
        chat = str(HOME / "long_chat.json")
        run_eunoe(["explain", chat, "--at", str(MOMENT), "--budget", str(BUDGET), "--plot", path])
        return Path(path).read_text(encoding="utf-8")


def main() -> None:
    """Draw the picture anew."""
    TARGET.write_text(draw(), encoding="utf-8")
    print(TARGET.relative_to(HOME.parent))


if __name__ == "__main__":
    main()
