"""The Open WebUI door: `from eunoe_openwebui import Filter` is a whole function for the host."""

from __future__ import annotations

from eunoe_openwebui.filter import Filter

__all__ = ["Filter"]
