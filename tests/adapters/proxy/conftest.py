"""The proxy on a real socket, before a server on another one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from model_server import ModelServer, running_server
from proxied import RunningProxy, running_proxy


@pytest.fixture
def upstream() -> Iterator[ModelServer]:
    """The server behind."""
    with running_server() as server:
        server.headers = {"Content-Type": "application/json"}
        yield server


@pytest.fixture
def proxy(upstream: ModelServer) -> Iterator[Callable[..., RunningProxy]]:
    """Starts a proxy before the server."""
    pytest.importorskip("uvicorn")
    with ExitStack() as stack:

        def start(**options: Any) -> RunningProxy:
            address = options.pop("upstream", upstream.url)
            return stack.enter_context(running_proxy(address, **options))

        yield start
