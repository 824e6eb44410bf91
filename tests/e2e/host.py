"""Start and stop the real Open WebUI on a free port of this machine, cut off from the network."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path

ADMIN_EMAIL = "admin@example.com"
ADMIN_PASSWORD = "correct-horse-battery"


@dataclass(frozen=True)
class Host:
    """A running server."""

    url: str
    process: subprocess.Popen[bytes]
    log: Path

    def stop(self) -> None:
        """End the server by its process id and wait for it."""
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def start_host(python: Path, folder: Path, upstream_url: str, seconds: float = 180) -> Host:
    """Start the server with a fresh database in `folder`.

    Raises:
        RuntimeError: It ended or was not ready in time; the message holds the end of its log.
    """
    folder.mkdir(parents=True, exist_ok=True)
    port, log = free_port(), folder / "server.log"
    program, listen = (
        str(python.parent / "open-webui"),
        ("--host", "127.0.0.1", "--port", str(port)),
    )
    environment = {**os.environ, **_settings(folder, upstream_url)}
    with log.open("wb") as output:
        process = subprocess.Popen(
            [program, "serve", *listen],
            cwd=folder,
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    host = Host(f"http://127.0.0.1:{port}", process, log)
    end = time.monotonic() + seconds
    while time.monotonic() < end and process.poll() is None:
        if _ready(host.url):
            return host
        time.sleep(0.3)
    host.stop()
    raise RuntimeError(f"Open WebUI did not start:\n{log.read_text(errors='replace')[-3000:]}")


def free_port() -> int:
    """A port nobody listens on at the moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _ready(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/ready", timeout=2) as answer:
            return bool(answer.status == 200)
    except urllib.error.HTTPError as error:
        error.close()
    except OSError:
        pass
    return False


def _settings(folder: Path, upstream_url: str) -> dict[str, str]:
    """Environment: no network, one provider, an admin account, no background requests."""
    off = {
        f"ENABLE_{name}": "false"
        for name in (
            "OLLAMA_API",
            "EVALUATION_ARENA_MODELS",
            "TITLE_GENERATION",
            "TAGS_GENERATION",
            "FOLLOW_UP_GENERATION",
            "AUTOCOMPLETE_GENERATION",
            "VERSION_UPDATE_CHECK",
            "COMMUNITY_SHARING",
        )
    }
    return {
        **off,
        "DATA_DIR": str(folder),
        "WEBUI_SECRET_KEY": "only-for-these-tests",
        "WEBUI_ADMIN_EMAIL": ADMIN_EMAIL,
        "WEBUI_ADMIN_PASSWORD": ADMIN_PASSWORD,
        "WEBUI_ADMIN_NAME": "Admin",
        "OPENAI_API_BASE_URL": upstream_url,
        "OPENAI_API_KEY": "none",
        "OFFLINE_MODE": "true",
        "USE_SLIM_DOCKER": "true",
        "RAG_EMBEDDING_ENGINE": "openai",
        "RAG_OPENAI_API_BASE_URL": upstream_url,
        "RAG_OPENAI_API_KEY": "none",
        "AUDIO_STT_ENGINE": "openai",
        "ANONYMIZED_TELEMETRY": "false",
        "DO_NOT_TRACK": "true",
        "no_proxy": "127.0.0.1",
    }
