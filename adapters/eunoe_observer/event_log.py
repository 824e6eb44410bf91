"""The newest requests that were told of, in memory: bounded, and lost when the process ends."""

from __future__ import annotations

import json
import threading
import time
import uuid
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from eunoe.domain.checking import require_whole
from eunoe.domain.event import RequestEvent
from eunoe.domain.log import logger
from eunoe_backends.event_queue import EventQueue
from eunoe_backends.event_record import event_record, read_record

MOST_EVENTS = 1_000
MOST_BYTES = 32_000_000
_EVENTS_WAITING = 256
_ROW_FIELDS = (
    "source", "session", "model", "policy", "before", "after", "budget", "recalled", "estimated",
    "truncated", "cache_lost", "cut", "over", "forecast", "ledger",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class LoggedEvent:
    """One request of the log.

    Attributes:
        number: counts the requests of the log, from 1.
        version: of the log when it was entered, or replaced.
        row: what a list shows of it.
        details: all of it as JSON.
    """

    number: int
    version: int
    row: Mapping[str, Any]
    details: bytes


class EventLog:
    """An ``Observer`` that keeps the newest events. Safe across threads.

    ``observe`` only puts an event in a queue; it is read in a thread of the log.

    Args:
        most_events, most_bytes: bounds; the oldest events are forgotten, sums stay.
        clock: seconds since 1970, for when a request was told of.

    Raises:
        SettingsError: a bound is not a whole number above 0.
    """

    def __init__(
        self,
        most_events: int = MOST_EVENTS,
        most_bytes: int = MOST_BYTES,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        for name, value in (("most_events", most_events), ("most_bytes", most_bytes)):
            require_whole(name, value, "a whole number above 0", least=1)
        self.name = uuid.uuid4().hex[:8]
        """Tells this log from one of an earlier process at the same address."""
        self._most_events, self._most_bytes, self._clock = most_events, most_bytes, clock
        self._events: OrderedDict[int, LoggedEvent] = OrderedDict()
        self._keys: dict[str, int] = {}
        self._totals: Counter[str] = Counter()
        self._bytes = self._version = self._numbered = 0
        self._listeners: dict[int, Callable[[], None]] = {}
        self._lock = threading.RLock()
        self._queue: EventQueue[tuple[float, RequestEvent]] = EventQueue(
            self._enter_all, most=_EVENTS_WAITING, at_a_time=_EVENTS_WAITING, name="eunoe-event-log"
        )

    def observe(self, event: RequestEvent) -> None:
        """Have an event entered, soon; of a full queue the oldest is lost."""
        self._queue.put((self._clock(), event))

    def drain(self, seconds: float = 5.0) -> bool:
        """Wait until all that was observed is entered; whether it is."""
        return self._queue.drain(seconds)

    def enter(self, record: Mapping[str, Any], at: float | None = None) -> int:
        """Enter a record, as ``read_record`` gives it back; its number.

        Args:
            record: one whose key is in the log takes the place of that one.
            at: seconds since 1970; by default now.
        """
        text = json.dumps(record, separators=(",", ":"))
        with self._lock:
            key = record["key"]
            old = self._events.get(self._keys.get(key, 0)) if key else None
            if old is None:
                self._numbered += 1
            number = self._numbered if old is None else old.number
            when = old.row["at"] if old is not None else self._clock() if at is None else at
            self._version += 1
            row = _row_of(record, number, when)
            details = f'{{"n":{number},"at":{row["at"]},{text[1:]}'.encode()
            made = LoggedEvent(number, self._version, row, details)
            if old is not None:
                self._bytes -= len(old.details)
                self._totals.subtract(_sums_of(old.row))
            self._events[number] = made
            self._bytes += len(made.details)
            self._totals.update(_sums_of(row))
            if key:
                self._keys[key] = number
            self._forget()
            listeners = [*self._listeners.values()]
        for tell in listeners:
            tell()
        return number

    def details(self, number: int) -> bytes | None:
        """All of one request as JSON; None if it is not in the log, or not any more."""
        with self._lock:
            found = self._events.get(number)
            return found.details if found is not None else None

    def news(self, version: int = 0) -> dict[str, Any]:
        """What changed since a version of the log: rows by number, sums, the oldest number."""
        with self._lock:
            rows = [e.row for e in self._events.values() if e.version > version]
            return {
                "log": self.name,
                "version": self._version,
                "oldest": next(iter(self._events), self._numbered + 1),
                "totals": {name: n for name, n in self._totals.items() if n},
                "events": rows,
            }

    def listen(self, tell: Callable[[], None]) -> Callable[[], None]:
        """Have ``tell`` called after each change, in any thread.

        Returns:
            Ends it.
        """
        with self._lock:
            self._listeners[id(tell)] = tell

        def end() -> None:
            with self._lock:
                self._listeners.pop(id(tell), None)

        return end

    def _forget(self) -> None:
        """Keep to the bounds; the newest event stays in any case."""
        while len(self._events) > 1 and (
            len(self._events) > self._most_events or self._bytes > self._most_bytes
        ):
            number, old = self._events.popitem(last=False)
            self._bytes -= len(old.details)
            key = str(json.loads(old.details)["key"])
            if self._keys.get(key) == number:
                del self._keys[key]

    def _enter_all(self, observed: list[tuple[float, RequestEvent]]) -> None:
        for at, event in observed:
            try:
                self.enter(event_record(event), at)
            except Exception as error:
                logger.warning("an event cannot be told: %s", type(error).__name__)


def read_sent_events(data: bytes) -> list[dict[str, Any]] | None:
    """The records that a caller sent, one or a list; None if one of them is none."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return None
    given = value if isinstance(value, list) else [value]
    records = [record for one in given if (record := read_record(one)) is not None]
    return records if len(records) == len(given) else None


def _row_of(record: Mapping[str, Any], number: int, at: float) -> dict[str, Any]:
    fates = Counter(record["fates"])
    return {
        "n": number,
        "at": round(at, 3),
        **{name: record[name] for name in _ROW_FIELDS},
        "messages": len(record["fates"]),
        "fates": dict(fates),
        "ms": round(sum(ms for name, ms in record["milliseconds"].items() if name != "answer"), 3),
        "notes": len(record["warnings"]) + len(record["violations"]) + len(record["mended"]),
    }


def _sums_of(row: Mapping[str, Any]) -> dict[str, int]:
    """What is added up: the figures of forecast and ledger, and a few of the report."""
    return {
        "requests": 1,
        "before": row["before"],
        "after": row["after"],
        "recalled": row["recalled"],
        "cuts": int(bool(row["cut"] and row["cut"][2])),
        "lost": int(bool(row["cache_lost"])),
        **{f"forecast.{name}": n for name, n in row["forecast"].items()},
        **row["ledger"],
    }
