"""The part of Open WebUI's HTTP interface that the tests use, with the standard library alone."""

from __future__ import annotations

import contextlib
import json
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

Json = dict[str, Any]


class RefusedError(Exception):
    """The host answered with an error status."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(f"{status}: {text[:500]}")
        self.status, self.text = status, text


@dataclass(frozen=True)
class Turn:
    """One question and its answer in a saved chat; `message` is the stored answer."""

    chat_id: str
    question: Json
    answer_id: str
    message: Json

    @property
    def status_lines(self) -> list[str]:
        """What was shown above the answer."""
        return [str(event.get("description")) for event in self.message.get("statusHistory") or []]


class WebApi:
    """A signed-in user of the host at `base`."""

    def __init__(self, base: str) -> None:
        self.base, self.token = base, ""

    def call(self, method: str, path: str, body: object = None) -> Any:
        """One request -> its JSON.

        Raises:
            RefusedError: The host answered with an error status.
        """
        return json.loads(self.call_text(method, path, body) or "null")

    def call_text(self, method: str, path: str, body: object = None) -> str:
        """One request -> the text of the answer.

        Raises:
            RefusedError: The host answered with an error status.
        """
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self.token}"}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return str(answer.read().decode())
        except urllib.error.HTTPError as error:
            with error:
                text = error.read().decode()
            raise RefusedError(error.code, text) from None

    def sign_in(self, email: str, password: str) -> None:
        """Use this account from now on."""
        form = {"email": email, "password": password}
        self.token = self.call("POST", "/api/v1/auths/signin", form)["token"]

    # Functions

    @contextlib.contextmanager
    def installed(self, name: str, title: str, source: str) -> Iterator[None]:
        """Create the function, switch it on for all models, and remove it afterwards."""
        meta = {"description": "", "manifest": {}}
        form = {"id": name, "name": title, "content": source, "meta": meta}
        self.call("POST", "/api/v1/functions/create", form)
        try:
            self.call("POST", f"/api/v1/functions/id/{name}/toggle")
            self.call("POST", f"/api/v1/functions/id/{name}/toggle/global")
            yield
        finally:
            self.call("DELETE", f"/api/v1/functions/id/{name}/delete")

    @contextlib.contextmanager
    def paused(self, name: str) -> Iterator[None]:
        """Switch a function off for a while, if it is there."""
        there = name in [function["id"] for function in self.call("GET", "/api/v1/functions/")]
        if there:
            self.call("POST", f"/api/v1/functions/id/{name}/toggle")
        try:
            yield
        finally:
            if there:
                self.call("POST", f"/api/v1/functions/id/{name}/toggle")

    def function(self, name: str) -> Json:
        """The stored function."""
        found: Json = self.call("GET", f"/api/v1/functions/id/{name}")
        return found

    def set_valves(self, name: str, values: Json) -> Json:
        """Replace the stored valves."""
        stored: Json = self.call("POST", f"/api/v1/functions/id/{name}/valves/update", values)
        return stored

    @contextlib.contextmanager
    def with_permissions(self) -> Iterator[None]:
        """Tools wait until their user lets them run."""
        before = self.call("GET", "/api/v1/chats/config")
        self.call("POST", "/api/v1/chats/config", {**before, "ENABLE_TOOL_PERMISSIONS": True})
        try:
            yield
        finally:
            self.call("POST", "/api/v1/chats/config", before)

    # Models and chats

    @contextlib.contextmanager
    def workspace_model(
        self, name: str, base: str, system: str = "", usage: bool = False
    ) -> Iterator[str]:
        """A model on another one, without the host's own tools; maybe with usage -> its id."""
        params = {"system": system} if system else {}
        meta = {"capabilities": {"builtin_tools": False, "usage": usage}}
        form = {"id": name, "name": name, "base_model_id": base, "params": params, "meta": meta}
        self.call("POST", "/api/v1/models/create", form)
        self.call("GET", "/api/models")  # the host rereads its list
        try:
            yield name
        finally:
            self.call("POST", "/api/v1/models/model/delete", {"id": name})

    def complete(self, model: str, messages: list[Json], **more: object) -> Json:
        """As a program does: no chat id, no session."""
        body = {"model": model, "messages": messages, "stream": False, **more}
        answer: Json = self.call("POST", "/api/chat/completions", body)
        return answer

    def stream(self, model: str, messages: list[Json]) -> str:
        """The same, streamed -> the text of all events."""
        body = {"model": model, "messages": messages, "stream": True}
        return self.call_text("POST", "/api/chat/completions", body)

    def import_chat(self, model: str, texts: list[tuple[str, str]]) -> tuple[str, str]:
        """Store a chat of (role, text) pairs -> chat id and id of its last message."""
        ids = [str(uuid.uuid4()) for _ in texts]
        messages = {
            ids[n]: {
                "id": ids[n],
                "parentId": ids[n - 1] if n else None,
                "childrenIds": ids[n + 1 : n + 2],
                "role": role,
                "content": text,
                "timestamp": n,
                **({"model": model, "done": True} if role == "assistant" else {"models": [model]}),
            }
            for n, (role, text) in enumerate(texts)
        }
        chat = {
            "title": "A long chat",
            "models": [model],
            "history": {"messages": messages, "currentId": ids[-1]},
            "messages": list(messages.values()),
        }
        return str(self.call("POST", "/api/v1/chats/new", {"chat": chat})["id"]), ids[-1]

    def ask(
        self, model: str, text: str, chat: tuple[str, str] | None = None, **more: object
    ) -> Turn:
        """As the page does: one question in a saved chat (`chat` = its id and last message)."""
        parent = chat[1] if chat else None
        question: Json = {
            "id": str(uuid.uuid4()),
            "parentId": parent,
            "childrenIds": [],
            "role": "user",
            "content": text,
            "timestamp": int(time.time()),
            "models": [model],
        }
        return self.answer(model, question, chat[0] if chat else None, **more)

    def answer(self, model: str, question: Json, chat_id: str | None, **more: object) -> Turn:
        """Have a stored or new question answered (again) and wait for the answer."""
        return self.finished(self.start(model, question, chat_id, **more))

    def start(self, model: str, question: Json, chat_id: str | None, **more: object) -> Turn:
        """Have a question answered, and do not wait."""
        answer_id = str(uuid.uuid4())
        body: Json = {
            "model": model,
            "stream": True,
            "params": {"function_calling": "legacy"},
            "filter_ids": [],
            "tool_ids": [],
            "features": {},
            "variables": {},
            "background_tasks": {},
            "session_id": f"session-{answer_id[:8]}",
            "id": answer_id,
            "message_ids": [{"model_id": model, "message_id": answer_id, "modelIdx": 0}],
            "parent_id": question["parentId"],
            "user_message": {**question, "childrenIds": [answer_id]},
            **({"chat_id": chat_id} if chat_id else {}),
            **more,
        }
        started = self.call("POST", "/api/chat/completions", body)
        chat_id = str(started.get("chat_id") or chat_id)
        return Turn(chat_id, question, answer_id, {})

    def finished(self, turn: Turn) -> Turn:
        """The turn once its answer is stored as done."""
        return replace(turn, message=self._finished(turn.chat_id, turn.answer_id))

    def allow_call(self, turn: Turn, number: int, seconds: float = 30) -> None:
        """Let a call of a tool run that waits for it; the first of a turn is number 0.

        Raises:
            TimeoutError: no such call came.
        """
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            output = self._message(turn.chat_id, turn.answer_id).get("output") or []
            calls = [item for item in output if item.get("type") == "function_call"]
            if len(calls) > number and calls[number].get("status") == "pending":
                path = f"/api/v1/chats/{turn.chat_id}/messages/{turn.answer_id}/resolve"
                form = {"call_id": calls[number]["call_id"], "action": "approve"}
                self.call("POST", path, form)
                return
            time.sleep(0.05)
        raise TimeoutError("no call waits")

    def later(self, turn: Turn, status: str, seconds: float = 10) -> Turn:
        """The same turn once its newest status line begins so: that comes after the answer."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            again = replace(turn, message=self._message(turn.chat_id, turn.answer_id))
            if again.status_lines and again.status_lines[-1].startswith(status):
                return again
            time.sleep(0.05)
        raise TimeoutError(f"no such status line: {again.status_lines}")

    def _finished(self, chat_id: str, message_id: str, seconds: float = 30) -> Json:
        """Wait until the answer is stored as done."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            message = self._message(chat_id, message_id)
            if message.get("done") or message.get("error"):
                return message
            time.sleep(0.05)
        raise TimeoutError(f"no answer in chat {chat_id}")

    def _message(self, chat_id: str, message_id: str) -> Json:
        chat = self.call("GET", f"/api/v1/chats/{chat_id}")["chat"]
        message: Json = chat["history"]["messages"].get(message_id) or {}
        return message
