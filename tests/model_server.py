"""An OpenAI-compatible server on a real socket: embeds by letters, labels as it is told."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

ALPHABET = "abcdefghijklmnopqrstuvwxyz"


def letters_of(text: str) -> list[float]:
    """How often each letter occurs, and a little of everything."""
    lower = text.lower()
    return [lower.count(letter) + 0.01 for letter in ALPHABET]


class ModelServer(ThreadingHTTPServer):
    """Attributes say how to answer, and what was asked.

    Attributes:
        statuses: the status of each next answer, 200 once they are used up.
        delay: seconds before an answer.
        answer: body of an answer in place of the usual one: text, or made from the path and body.
        asked: (path, headers, body) of each request, in order.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.statuses: list[int] = []
        self.delay = 0.0
        self.answer: str | Callable[[str, Any], str] | None = None
        self.asked: list[tuple[str, dict[str, str], Any]] = []
        self.said: Callable[[Any], str] = lambda body: "{}"
        self.url = f"http://127.0.0.1:{self.server_port}/v1"

    def texts(self) -> list[str]:
        """All texts that were sent to be embedded."""
        return [
            t for path, _, body in self.asked if path.endswith("embeddings") for t in body["input"]
        ]

    def reply(self, path: str, body: Any) -> str:
        """The body of an answer."""
        if isinstance(self.answer, str):
            return self.answer
        if self.answer is not None:
            return self.answer(path, body)
        if path.endswith("/embeddings"):
            rows = [{"index": i, "embedding": letters_of(t)} for i, t in enumerate(body["input"])]
            return json.dumps({"data": rows[::-1]})
        return json.dumps({"choices": [{"message": {"content": self.said(body)}}]})


class _Handler(BaseHTTPRequestHandler):
    server: ModelServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((self.path, dict(self.headers), body))
        status = self.server.statuses.pop(0) if self.server.statuses else 200
        time.sleep(self.server.delay)
        key = self.headers.get("Authorization", "")
        data = (self.server.reply(self.path, body) if status == 200 else f"wrong: {key}").encode()
        try:
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)
        except OSError:
            pass  # the client did not wait

    def log_message(self, *args: Any) -> None:
        pass


@contextmanager
def running_server() -> Iterator[ModelServer]:
    """A server for the time of a test."""
    with ModelServer() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
