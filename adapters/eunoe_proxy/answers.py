"""Reading an answer while it passes: its usage, and whether it turned into an error."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping
from typing import Any

_LONGEST_LINE = 1_000_000
_LARGEST_ANSWER = 16_000_000
_LAST_LINE = b"data: [DONE]"
_SPEAKING = (b'"usage"', b'"timings"', b'"error"')


class AnswerWatch:
    """Is shown the bytes of one answer; keeps of them what little it needs, and never raises.

    Args:
        status: of the answer.
        headers: of the answer.
    """

    def __init__(self, status: int, headers: Iterable[tuple[bytes, bytes]]) -> None:
        found = {key.lower(): value.decode("latin-1").strip().lower() for key, value in headers}
        media = found.get(b"content-type", "")
        self._streams = media.startswith("text/event-stream")
        self._reads = status < 300 and (self._streams or "json" in media)
        encoding = found.get(b"content-encoding", "identity")
        self._unpack: Any = None
        if encoding in ("gzip", "deflate"):
            self._unpack = zlib.decompressobj(zlib.MAX_WBITS | 32)
        elif encoding not in ("", "identity"):
            self._reads = False
        self._held = bytearray()
        self._skipping = False
        self._usage: dict[str, Any] = {}
        length = found.get(b"content-length", "")
        self._left = int(length) if length.isascii() and length.isdigit() else None
        self.failed = False
        """The answer says that it is an error, whatever its status; of JSON ``usage`` finds out."""
        self.whole = False
        """All that the caller needs has come, though the connection may not have ended."""

    def feed(self, data: bytes) -> None:
        """The next bytes of the answer."""
        if self._left is not None:
            self._left -= len(data)
            self.whole = self._left <= 0
        if not self._reads:
            return
        if self._unpack is not None:
            try:
                data = self._unpack.decompress(data)
            except zlib.error:
                self._reads = False
                return
        self._held += data
        if self._streams:
            self._take_lines()
        elif len(self._held) > _LARGEST_ANSWER:
            self._forget()

    def usage(self) -> Mapping[str, Any] | None:
        """What was reported so far, as it came; None if nothing was."""
        if self._reads and self._held:
            held, self._held = self._held, bytearray()
            if not self._streams:
                self._take(bytes(held))
            elif held.startswith(b"data:") and not self._skipping:  # an end without its line feed
                self._take(bytes(held[5:]))
        return self._usage or None

    def _take_lines(self) -> None:
        *lines, rest = self._held.split(b"\n")
        for line in lines:
            if self._skipping:
                self._skipping = False
            elif line.startswith(_LAST_LINE):
                self.whole = True
            elif line.startswith(b"data:") and any(word in line for word in _SPEAKING):
                self._take(bytes(line[5:]))
        self._held = rest
        if len(rest) > _LONGEST_LINE:
            self._held, self._skipping = bytearray(), True

    def _take(self, text: bytes) -> None:
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return
        if not isinstance(value, Mapping):
            return
        if value.get("error") and not value.get("choices"):
            self.failed = True
        usage, timings = value.get("usage"), value.get("timings")
        if isinstance(usage, Mapping) and usage:
            self._usage.update(usage)
        if isinstance(timings, Mapping) and timings:
            self._usage["timings"] = dict(timings)

    def _forget(self) -> None:
        self._reads = False
        self._held.clear()
