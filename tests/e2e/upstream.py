"""A provider made of paper: as strict as the real ones, answers what a test tells it to.

It runs in a thread of the test process, so a test sets `answer` and reads `requests` directly.
A list that a real provider refuses is refused with status 400 and the same shape of error; what was
wrong stays in `Seen.problems`.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Json = dict[str, Any]

_ROLES = {"system", "developer", "user", "assistant", "tool"}
_KEYS = {"role", "content", "name", "tool_calls", "tool_call_id", "refusal", "audio"}
_PARTS = {
    "system": {"text"},
    "developer": {"text"},
    "user": {"text", "image_url", "input_audio", "file"},
    "assistant": {"text", "refusal"},
    "tool": {"text"},
}
_IMAGE_TOKENS = 765


@dataclass(frozen=True)
class Reply:
    """What the model answers: text, or calls as (tool name, arguments)."""

    text: str = ""
    calls: tuple[tuple[str, Json], ...] = ()


@dataclass(frozen=True)
class Seen:
    """One request for a completion, as it arrived."""

    body: Json
    tokens: int
    problems: tuple[str, ...]

    @property
    def messages(self) -> list[Json]:
        """The messages of the request."""
        messages: list[Json] = self.body.get("messages") or []
        return messages

    @property
    def roles(self) -> str:
        """One letter a message, "T" for an assistant message that calls tools."""
        return "".join("T" if m.get("tool_calls") else str(m.get("role"))[0] for m in self.messages)


@dataclass
class Upstream:
    """The provider: start it, point a host at `url`, set `answer`, read `requests`.

    It reports `charge` tokens for each that it counts, as another tokenizer would. It embeds by
    `meaning`, where a test sets one, and keeps what it embedded.
    """

    models: tuple[Json, ...]
    window: int = 0
    charge: float = 1.0
    answer: Callable[[Json], Reply] = field(default=lambda body: Reply(f"echo: {last_text(body)}"))
    requests: list[Seen] = field(default_factory=list)
    embedded: list[str] = field(default_factory=list)
    meaning: Callable[[str], list[float]] | None = None

    def start(self) -> None:
        """Listen on a free port of this machine."""
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        """Base address, as an OpenAI client wants it."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def reset(self, window: int = 0) -> None:
        """Forget the requests, echo again, accept `window` tokens (0 = any number)."""
        self.requests.clear()
        self.embedded.clear()
        self.meaning = None
        self.window = window
        self.charge = 1.0
        self.answer = lambda body: Reply(f"echo: {last_text(body)}")

    def cached_tokens(self) -> int:
        """Tokens at the start of the newest request that an earlier one began with, too."""
        newest = self.requests[-1].messages
        longest = 0
        for earlier in self.requests[:-1]:
            pairs = enumerate(zip(newest, earlier.messages, strict=False))
            unlike = (place for place, (one, other) in pairs if one != other)
            longest = max(longest, next(unlike, min(len(newest), len(earlier.messages))))
        return count_tokens({"messages": newest[:longest]}) if longest else 0

    def complete(self, body: Json) -> tuple[int, Json | Reply]:
        """Judge one request -> status and error, or the reply."""
        seen = Seen(body, count_tokens(body), tuple(find_problems(body)))
        problems = list(seen.problems)
        if self.window and seen.tokens > self.window:
            problems.append(f"maximum context length is {self.window}, got {seen.tokens} tokens")
        self.requests.append(Seen(body, seen.tokens, tuple(problems)))
        if problems:
            return 400, {"error": {"message": problems[0], "type": "invalid_request_error"}}
        return 200, self.answer(body)

    def embed(self, body: Json) -> tuple[int, Json]:
        """The vectors of some texts -> status and answer."""
        texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
        self.embedded.extend(texts)
        if self.meaning is None:
            return 500, {"error": {"message": "no embeddings today"}}
        rows = [{"index": i, "embedding": self.meaning(text)} for i, text in enumerate(texts)]
        return 200, {"object": "list", "data": rows, "model": body.get("model")}


def last_text(body: Json) -> str:
    """First 60 characters of the newest user text."""
    for message in reversed(body["messages"]):
        if message["role"] == "user":
            return text_of(message)[-60:]
    return ""


def text_of(message: Json) -> str:
    """The text of a message, parts joined."""
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "\n".join(str(part.get("text") or "") for part in content)


def count_tokens(body: Json) -> int:
    """Size of a request: words and signs, four more a message, a flat price for images.

    For the short English words of these tests that is what a byte-pair tokenizer counts; of JSON
    such a one takes neighbouring signs together.
    """
    total = 3 + _json_pieces(body["tools"]) if body.get("tools") else 3
    for message in body.get("messages") or []:
        total += 4 + _pieces(text_of(message)) + _json_pieces(message.get("tool_calls") or "")
        content = message.get("content")
        if isinstance(content, list):
            total += sum(_IMAGE_TOKENS for part in content if part.get("type") == "image_url")
    return total


def _json_pieces(value: object) -> int:
    text = json.dumps(value, separators=(",", ":")) if value else ""
    return len(re.findall(r"[A-Za-z]+|\d{1,3}|[^\sA-Za-z\d]+", text))


def _pieces(text: str) -> int:
    return len(re.findall(r"[A-Za-z]+|\d{1,3}|[^\sA-Za-z\d]", text))


def find_problems(body: Json) -> Iterator[str]:
    """Everything a strict provider refuses a request for."""
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        yield "messages: empty array"
        return
    waiting: list[str] = []
    for index, message in enumerate(messages):
        where, role = f"messages[{index}]", message.get("role")
        if role == "tool":
            if message.get("tool_call_id") not in waiting:
                yield f"{where}: a tool message must follow the call it answers"
            else:
                waiting.remove(message["tool_call_id"])
        elif waiting:
            yield f"{where}: calls without an answer: {waiting}"
            waiting = []
        yield from _message_problems(where, message)
        waiting.extend(str(call.get("id")) for call in message.get("tool_calls") or [])
    if waiting:
        yield f"calls without an answer at the end: {waiting}"


def _message_problems(where: str, message: Json) -> Iterator[str]:
    role, content = message.get("role"), message.get("content")
    if role not in _ROLES:
        yield f"{where}: unknown role {role!r}"
        return
    if unknown := sorted(set(message) - _KEYS):
        yield f"{where}: unknown keys {unknown}"
    if message.get("tool_calls") == []:
        yield f"{where}: tool_calls is an empty array"
    if content in (None, "", []) and not message.get("tool_calls") and role != "tool":
        yield f"{where}: no content"
    if isinstance(content, list):
        for part in content:
            if part.get("type") not in _PARTS[role]:
                yield f"{where}: a {role} message holds no {part.get('type')!r} part"


def _handler(upstream: Upstream) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *arguments: object) -> None:
            """Nothing is printed."""

        def do_GET(self) -> None:
            self._json(200, {"object": "list", "data": list(upstream.models)})

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)))
            if self.path.endswith("/embeddings"):
                self._json(*upstream.embed(body))
                return
            status, result = upstream.complete(body)
            if not isinstance(result, Reply):
                self._json(status, result)
            elif body.get("stream"):
                self._stream(body, result)
            else:
                self._json(200, _completion(body, "message", _message(result), "chat.completion"))

        def _json(self, status: int, value: Json) -> None:
            data = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def _stream(self, body: Json, reply: Reply) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Connection", "close")
            self.end_headers()
            message = _message(reply)
            for index, call in enumerate(message.get("tool_calls") or []):
                call["index"] = index
            events = [_completion(body, "delta", message, "chat.completion.chunk")]
            last = {"index": 0, "delta": {}, "finish_reason": "stop"}
            events.append({**events[0], "choices": [last]})
            if (body.get("stream_options") or {}).get("include_usage"):
                events.append({**events[0], "choices": []})
            for event in events[:2]:
                event.pop("usage")
            for event in events:
                self.wfile.write(f"data: {json.dumps(event)}\n\n".encode())
            self.wfile.write(b"data: [DONE]\n\n")
            self.close_connection = True

    def _message(reply: Reply) -> Json:
        message: Json = {"role": "assistant", "content": reply.text}
        if reply.calls:
            message["tool_calls"] = [
                {
                    "id": f"call_{len(upstream.requests)}_{number}",
                    "type": "function",
                    "function": {"name": name, "arguments": json.dumps(arguments)},
                }
                for number, (name, arguments) in enumerate(reply.calls)
            ]
        return message

    def _completion(body: Json, key: str, message: Json, kind: str) -> Json:
        finish = "stop" if key == "message" else None
        prompt = int(upstream.requests[-1].tokens * upstream.charge)
        cached = int(upstream.cached_tokens() * upstream.charge)
        answer = _pieces(message["content"]) + 1
        return {
            "id": f"completion-{len(upstream.requests)}",
            "object": kind,
            "created": 0,
            "model": body.get("model"),
            "choices": [{"index": 0, key: message, "finish_reason": finish}],
            "usage": {
                "prompt_tokens": prompt,
                "completion_tokens": answer,
                "total_tokens": prompt + answer,
                "prompt_tokens_details": {"cached_tokens": cached},
            },
        }

    return Handler
