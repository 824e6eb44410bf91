"""The proxy on a real socket, before a server on another one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from model_server import ModelServer, running_server
from proxied import RunningProxy, running_proxy

REPOSITORY = Path(__file__).resolve().parents[3]


@pytest.fixture
def upstream() -> Iterator[ModelServer]:
    """The server behind."""
    with running_server() as server:
        server.headers = {"Content-Type": "application/json"}
        yield server


@pytest.fixture
def proxy(upstream: ModelServer) -> Iterator[Callable[..., RunningProxy]]:
    """Starts a proxy before the server; unless told otherwise it knows how much its models hold."""
    pytest.importorskip("uvicorn")
    with ExitStack() as stack:

        def start(**options: Any) -> RunningProxy:
            address = options.pop("upstream", upstream.url)
            options.setdefault("context_window", 128_000)
            return stack.enter_context(running_proxy(address, **options))

        yield start


@pytest.fixture
def command(upstream):
    """Starts `eunoe proxy` as a process of its own; gives it and its address."""
    pytest.importorskip("uvicorn")
    path = os.pathsep.join(str(REPOSITORY / folder) for folder in ("core", "adapters"))
    started = []

    def start(*words):
        process = subprocess.Popen(
            [sys.executable, "-m", "eunoe_cli", "proxy", "--upstream", upstream.url, *words],
            env={**os.environ, "PYTHONPATH": path},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        first = process.stdout.readline()
        assert first.startswith("eunoe proxy: http://127.0.0.1:"), first
        return process, first.split()[2]

    yield start
    for process in started:
        process.kill()
        process.communicate()
