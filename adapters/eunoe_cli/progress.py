"""A line on the standard error that says how far long work is."""

from __future__ import annotations

import sys
import time

_EVERY_SECONDS = 0.1
_EVERY_SECONDS_IN_A_FILE = 2.0


class Progress:
    """Rewrites one line on a terminal; elsewhere, if asked for, adds a line now and then.

    Args:
        asked: show it even where the standard error is no terminal.
    """

    def __init__(self, *, asked: bool = False) -> None:
        self._terminal = sys.stderr.isatty()
        self._on = self._terminal or asked
        self._last = 0.0
        self._shown = 0

    def show(self, text: str) -> None:
        """Say how far the work is, unless something was said a moment ago."""
        pause = _EVERY_SECONDS if self._terminal else _EVERY_SECONDS_IN_A_FILE
        if not self._on or time.monotonic() - self._last < pause:
            return
        self._last = time.monotonic()
        if self._terminal:
            print(f"\r{text:<{self._shown}}", end="", file=sys.stderr, flush=True)
            self._shown = len(text)
        else:
            print(text, file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Take the line away, before a result is printed."""
        if self._on and self._terminal and self._shown:
            print("\r" + " " * self._shown + "\r", end="", file=sys.stderr, flush=True)
            self._shown = 0
