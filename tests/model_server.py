"""An OpenAI-compatible server on a real socket: embeds by letters, answers as it is told."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator
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
        pieces: makes the parts of a streamed answer from the body; each is sent as it comes.
        headers: of each answer, beside the usual ones.
        asked: (path, headers, body) of each request, in order; a body that is no JSON as text.
        raw: the bytes of each body.
        left: set when somebody does not wait for the end of a streamed answer.
    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.statuses: list[int] = []
        self.delay = 0.0
        self.answer: str | Callable[[str, Any], str] | None = None
        self.pieces: Callable[[Any], Iterable[bytes]] | None = None
        self.headers: dict[str, str] = {}
        self.raw: list[bytes] = []
        self.left = threading.Event()
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

    def do_GET(self) -> None:
        self.answer(None)

    def do_POST(self) -> None:
        data = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.raw.append(data)
        try:
            body = json.loads(data)
        except (ValueError, RecursionError):
            body = data.decode("utf-8", "replace")
        self.answer(body)

    def answer(self, body: Any) -> None:
        server = self.server
        server.asked.append((self.path, dict(self.headers), body))
        status = server.statuses.pop(0) if server.statuses else 200
        time.sleep(server.delay)
        try:
            if status == 200 and server.pieces and isinstance(body, dict) and body.get("stream"):
                self.stream(server.pieces(body))
                return
            key = self.headers.get("Authorization", "")
            data = (server.reply(self.path, body) if status == 200 else f"wrong: {key}").encode()
            self.start(status, {"Content-Length": str(len(data))})
            self.wfile.write(data)
        except OSError:
            server.left.set()  # the client did not wait

    def stream(self, pieces: Iterable[bytes]) -> None:
        """Server-sent events; an empty piece breaks the answer off."""
        self.protocol_version = "HTTP/1.1"
        usual = {"Transfer-Encoding": "chunked", "Connection": "close"}
        self.start(200, {**usual, "Content-Type": "text/event-stream; charset=utf-8"})
        for piece in pieces:
            if not piece:
                return
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        self.wfile.write(b"0\r\n\r\n")

    def start(self, status: int, usual: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {**self.server.headers, **usual}.items():
            self.send_header(name, value)
        self.end_headers()

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
