"""One JSON endpoint over HTTP: a limit on the time, a few tries, and the key kept out of sight."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from eunoe.domain.errors import BackendError, SettingsError

ENDPOINT_WAITS = (0.25, 1.0, 4.0)
"""Seconds before the second try, the third, and so on; the last one counts for all further."""

_LARGEST_ANSWER = 64_000_000
_TRY_AGAIN = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529})


class JsonEndpoint:
    """Posts JSON to the paths of an OpenAI-compatible server. Safe across threads.

    Neither the key nor what the server answers to an error is ever repeated in an error or a log:
    servers quote keys.

    Args:
        base_url: of the server, its version included, such as ``http://localhost:11434/v1``.
        api_key: sent as a bearer token; None sends none.
        timeout: seconds for a call with all its tries, above 0.
        attempts: tries, at least 1. Only what may pass is tried again: no connection, no answer in
            time, too many requests, a fault of the server.
        clock, sleep: seconds, rising, and how to wait.

    Raises:
        BackendError: httpx is not installed.
        SettingsError: the address is no http(s) address, or a number is out of range.
    """

    def __init__(
        self,
        base_url: str,
        api_key: str | None = None,
        *,
        timeout: float = 30.0,
        attempts: int = 3,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        try:
            import httpx
        except ImportError as error:
            raise BackendError("an endpoint needs httpx: pip install 'eunoe[http]'") from error
        parts = urlsplit(base_url.strip())
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise SettingsError("base_url", "...", "an http:// or https:// address")
        if not 0 < timeout < math.inf:
            raise SettingsError("timeout", timeout, "seconds, above 0, finite")
        if attempts < 1:
            raise SettingsError("attempts", attempts, "at least 1")
        self._base = base_url.strip().rstrip("/")
        self.host = parts.hostname + (f":{parts.port}" if parts.port else "")
        self.timeout, self._attempts = timeout, attempts
        self._clock, self._sleep = clock, sleep
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._faults = (httpx.HTTPError, httpx.InvalidURL)
        self._client = httpx.Client(headers=headers, follow_redirects=False)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.host})"

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """The parsed answer to a post.

        Raises:
            BackendError: there was no usable answer in time; it does not repeat what was sent.
        """
        end = self._clock() + self.timeout
        problem = "no try"
        for attempt in range(self._attempts):
            if attempt:
                wait = ENDPOINT_WAITS[min(attempt - 1, len(ENDPOINT_WAITS) - 1)]
                if self._clock() + wait >= end:
                    break
                self._sleep(wait)
            status, problem, answer = self._try(path, body, end)
            if not problem:
                return answer
            if status and status not in _TRY_AGAIN:
                break
        raise BackendError(f"{self.host}: {problem}")

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _try(self, path: str, body: Mapping[str, Any], end: float) -> tuple[int, str, Any]:
        """Status (0 without an answer), what went wrong ("" for nothing), and the parsed answer."""
        left = end - self._clock()
        if left <= 0:
            return 0, "no answer in time", None
        url = f"{self._base}/{path.lstrip('/')}"
        try:
            with self._client.stream("POST", url, json=body, timeout=left) as response:
                if response.status_code != 200:
                    return response.status_code, f"status {response.status_code}", None
                data = bytearray()
                for piece in response.iter_bytes():
                    data += piece
                    if self._clock() > end:
                        return 0, "no answer in time", None
                    if len(data) > _LARGEST_ANSWER:
                        return 200, "the answer is too large", None
        except self._faults as error:
            return 0, type(error).__name__, None
        try:
            return 200, "", json.loads(data)
        except (ValueError, RecursionError):
            return 200, "the answer is no JSON", None
