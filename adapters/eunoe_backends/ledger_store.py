"""Where ledgers are kept: in memory, or in a file to which lines are added and summed up."""

from __future__ import annotations

import importlib
import json
import os
import stat
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from eunoe.domain.log import logger
from eunoe.stages.accounting import Ledger
from eunoe_backends.price_sources import write_whole

COMPACTED_KEY = "compacted_bytes"
"""In the first line of a file that was summed up: how large it was then."""
_HEADER_BYTES = 200


class LedgerStore(Protocol):
    """**Protocol:** keeps a ledger for each chat. Safe across threads; never raises on a fault."""

    def add(self, chat: str, entry: Ledger) -> None:
        """Add to the ledger of a chat; "" for requests without one."""
        ...

    def of(self, chat: str) -> Ledger:
        """The ledger of a chat; empty if there is none."""
        ...

    def total(self) -> Ledger:
        """All chats together."""
        ...

    def chats(self) -> Mapping[str, Ledger]:
        """The ledgers by chat, in order of the chats' names."""
        ...


class InMemoryLedgerStore:
    """Ledgers of this process, gone with it.

    Args:
        max_chats: chats that are told apart; those met least recently are merged into the chat
            ``""``, so that totals stay right.
    """

    def __init__(self, max_chats: int = 10_000) -> None:
        self._max_chats = max(1, max_chats)
        self._chats: dict[str, Ledger] = {}
        self._rest = Ledger()
        self._lock = threading.Lock()

    def add(self, chat: str, entry: Ledger) -> None:
        """Add to the ledger of a chat."""
        with self._lock:
            if not chat:
                self._rest = self._rest + entry
                return
            self._chats[chat] = self._chats.pop(chat, Ledger()) + entry
            if len(self._chats) > self._max_chats:
                oldest = next(iter(self._chats))
                self._rest = self._rest + self._chats.pop(oldest)

    def of(self, chat: str) -> Ledger:
        """The ledger of a chat."""
        with self._lock:
            return self._chats.get(chat, Ledger()) if chat else self._rest

    def total(self) -> Ledger:
        """All chats together."""
        return Ledger.merge(list(self.chats().values()))

    def chats(self) -> dict[str, Ledger]:
        """The ledgers by chat."""
        with self._lock:
            found = {name: self._chats[name] for name in sorted(self._chats)}
            return {"": self._rest, **found} if self._rest != Ledger() else found


class JsonLinesLedgerStore:
    """Ledgers in a text file: a line of JSON for each entry, which several processes may add.

    A line that cannot be read, such as a torn last one, is passed over. A file that has grown large
    is written anew with one line for each chat; whoever reads meanwhile sees the old file or the
    new one. That needs file locks, which Windows has not: there it only grows.

    Args:
        path: the file; it and its folder are made at the first entry.
        compact_bytes: size above which entries are summed up; the next time at twice the size that
            is left then, if that is more. 0 never does.
    """

    def __init__(self, path: str | Path, *, compact_bytes: int = 4_000_000) -> None:
        self.path = Path(path).expanduser()
        self._compact_bytes = compact_bytes
        self._lock = threading.Lock()
        self._failed = False

    def add(self, chat: str, entry: Ledger) -> None:
        """Append a line; a fault is logged once and costs the entry."""
        line = _ledger_line(chat, entry)
        with self._lock:
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                self._append(line.encode())
                self._failed = False
            except OSError as error:
                if not self._failed:
                    logger.warning("the ledger file cannot be written: %s", error.strerror)
                self._failed = True

    def _append(self, line: bytes) -> None:
        handle = self._open_locked()
        try:
            size = os.fstat(handle).st_size
            if size:
                os.lseek(handle, size - 1, os.SEEK_SET)
                if os.read(handle, 1) != b"\n":  # a torn line: end it, so that only it is lost
                    line = b"\n" + line
            while line:
                line = line[os.write(handle, line) :]
            if self._is_large(handle):
                self._compact()
        finally:
            os.close(handle)  # and the lock with it

    def _open_locked(self) -> int:
        """The file, locked against other writers; opened again if one of them replaced it."""
        while True:
            flags = os.O_RDWR | os.O_APPEND | os.O_CREAT
            handle = os.open(self.path, flags, 0o600)
            try:
                if _lock_file(handle) and not _is_the_file(handle, self.path):
                    os.close(handle)
                    continue
            except BaseException:
                os.close(handle)
                raise
            return handle

    def _is_large(self, handle: int) -> bool:
        size = os.fstat(handle).st_size
        if not 0 < self._compact_bytes < size or not _has_locks():
            return False
        os.lseek(handle, 0, os.SEEK_SET)
        first = os.read(handle, _HEADER_BYTES).partition(b"\n")[0]
        left = 0
        with suppress(ValueError, TypeError, KeyError, RecursionError):
            left = int(json.loads(first)[COMPACTED_KEY])
        return size > 2 * left

    def _compact(self) -> None:
        """Write the file anew, a line for each chat. Only under the lock."""
        lines = [_ledger_line(chat, ledger) for chat, ledger in self.chats().items()]
        size = sum(map(len, lines))
        header = json.dumps({COMPACTED_KEY: size}) + "\n"
        place = self.path.resolve()  # a link stays a link
        mode = stat.S_IMODE(place.stat().st_mode)
        write_whole(place, header + "".join(lines))
        place.chmod(mode)

    def _entries(self) -> Iterator[tuple[str, Ledger]]:
        try:
            with self.path.open(encoding="utf-8", errors="replace") as file:
                for line in file:
                    yield from _read_ledger_line(line)
        except OSError:
            return

    def of(self, chat: str) -> Ledger:
        """The ledger of a chat; reads the file."""
        return Ledger.merge([entry for name, entry in self._entries() if name == chat])

    def total(self) -> Ledger:
        """All chats together; reads the file."""
        return Ledger.merge([entry for _, entry in self._entries()])

    def chats(self) -> dict[str, Ledger]:
        """The ledgers by chat; reads the file."""
        found: dict[str, Ledger] = {}
        for name, entry in self._entries():
            found[name] = found.get(name, Ledger()) + entry
        return {name: found[name] for name in sorted(found)}


def _has_locks() -> bool:
    return os.name == "posix"


def _lock_file(handle: int) -> bool:
    """Wait for the lock of a file; False where there are none. It ends when the file is closed."""
    if not _has_locks():
        return False
    fcntl: Any = importlib.import_module("fcntl")
    fcntl.flock(handle, fcntl.LOCK_EX)
    return True


def _is_the_file(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False


def _ledger_line(chat: str, ledger: Ledger) -> str:
    return json.dumps({"chat": chat, **ledger.to_dict()}) + "\n"


def _read_ledger_line(line: str) -> list[tuple[str, Ledger]]:
    try:
        data: Any = json.loads(line)
    except (ValueError, RecursionError):
        return []
    if not isinstance(data, dict) or not isinstance(data.get("chat"), str):
        return []
    return [(data["chat"], Ledger.from_dict(data))]
