"""Calls the filter as the host does: stored valves first, arguments by name."""

from __future__ import annotations

import asyncio
import inspect
import sys
import types
from typing import Any

import pytest

from plugin_host import load_plugin

THREE_LINES = '''"""
title: eunoe
"""
from eunoe_openwebui import Filter
'''


class Plugin:
    """A loaded function: valves are assigned before each call, arguments go by name."""

    def __init__(self, source: str) -> None:
        self.instance = load_plugin(source).Filter()
        self.events: list[dict[str, Any]] = []

    def call(self, hook: str, body: dict[str, Any], **given: Any) -> dict[str, Any]:
        """One call of a hook in an event loop of its own."""
        return asyncio.run(self.acall(hook, body, **given))

    async def acall(
        self,
        hook: str,
        body: dict[str, Any],
        *,
        valves: dict[str, Any] | None = None,
        user: dict[str, Any] | None = None,
        **extra: Any,
    ) -> dict[str, Any]:
        """One call of a hook with stored valves, as the host makes it."""
        self.instance.valves = self.instance.Valves(**(valves or {}))
        given = {"__event_emitter__": self._emit, "__id__": "eunoe", **extra}
        if user is not None:
            given["__user__"] = {"id": "u", "valves": self.instance.UserValves(**user)}
        handler = getattr(self.instance, hook)
        names = inspect.signature(handler).parameters
        known = {k: v for k, v in given.items() if k in names}
        result: dict[str, Any] = await handler(**{"body": body, **known})
        assert isinstance(result, dict)
        return result

    async def _emit(self, event: dict[str, Any]) -> None:
        self.events.append(event)

    @property
    def status(self) -> str:
        """The newest status line."""
        lines = [e["data"] for e in self.events if e["type"] == "status"]
        assert all(line["done"] is True for line in lines)
        return str(lines[-1]["description"]) if lines else ""


@pytest.fixture
def plugin() -> Plugin:
    """The filter as a function of three lines."""
    return Plugin(THREE_LINES)


@pytest.fixture
def old_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """A host from before the `request` hook runs in this process."""
    _pretend_host(monkeypatch, "0.9.6")


@pytest.fixture
def new_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """A host with the `request` hook runs in this process."""
    _pretend_host(monkeypatch, "0.12.4")


def _pretend_host(monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    environment = types.ModuleType("open_webui.env")
    environment.__dict__["VERSION"] = version
    monkeypatch.setitem(sys.modules, "open_webui.env", environment)
