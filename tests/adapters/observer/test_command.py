"""`eunoe observe` as a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from eunoe_backends import RemoteObserver
from eunoe_cli.__main__ import main
from events import event_of

REPOSITORY = Path(__file__).resolve().parents[3]
PATHS = os.pathsep.join(str(REPOSITORY / folder) for folder in ("core", "adapters"))


@pytest.fixture
def command() -> Iterator[Callable[..., tuple[subprocess.Popen[str], str]]]:
    """Starts the command; gives the process and its address."""
    pytest.importorskip("uvicorn")
    started = []

    def start(*words: str) -> tuple[subprocess.Popen[str], str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "eunoe_cli", "observe", *words],
            env={**os.environ, "PYTHONPATH": PATHS},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        assert process.stdout is not None
        first = process.stdout.readline()
        assert first.startswith("eunoe observe: http://127.0.0.1:"), first
        return process, first.split()[2]

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_it_serves_and_sigterm_ends_it_at_once_though_somebody_watches(command) -> None:
    process, url = command("--port", "0", "--keep", "1")
    remote = RemoteObserver(url)
    for turns in (1, 2):
        remote.observe(event_of(turns))
    assert remote.drain()
    with httpx.stream("GET", f"{url}/stream", timeout=10) as answer:
        lines = answer.iter_lines()
        assert next(lines).startswith("id: ")
        assert '"messages":8' in next(lines)  # the newest alone is kept
        began = time.monotonic()
        process.send_signal(signal.SIGTERM)
        list(lines)
    out, error = process.communicate(timeout=20)
    assert (process.returncode, out, error) == (0, "", "")
    assert time.monotonic() - began < 10


def test_a_wrong_number_is_said(capsys) -> None:
    assert main(["observe", "--port", "0", "--keep", "0"]) == 2
    assert "above 0" in capsys.readouterr().err


def test_without_uvicorn_it_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules['uvicorn'] = None\n"
        "from eunoe_cli.__main__ import main; sys.exit(main(['observe']))"
    )
    environment = {**os.environ, "PYTHONPATH": PATHS}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "pip install 'eunoe[observer]'" in done.stderr
