"""The log: bounded, in order, with sums of all that it ever saw."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eunoe import ContextOrchestrator, Conversation, SettingsError, TokenBudget
from eunoe_backends.event_record import event_record
from eunoe_observer import EventLog
from eunoe_observer.event_log import read_sent_events
from events import SECRET, event_of, secret_talk

RECORD = event_record(event_of(2))


def record(key: str = "", cost: int = 1, **more: Any) -> dict[str, Any]:
    ledger = {"estimated.sent.requests": 1, "estimated.sent.cost": cost}
    return {**RECORD, "key": key, "ledger": ledger, **more}


def numbers(log: EventLog, version: int = 0) -> list[int]:
    return [row["n"] for row in log.news(version)["events"]]


def test_it_is_an_observer() -> None:
    log = EventLog()
    engine = ContextOrchestrator(TokenBudget(2000), observer=log)
    for turns in (1, 20):
        engine.process_sync(Conversation.from_openai_messages(secret_talk(turns)), session_id="c")
    assert log.drain()
    first, second = log.news()["events"]
    assert (first["n"], first["messages"], second["messages"]) == (1, 6, 44)
    assert second["session"] == "c"
    assert sum(second["fates"].values()) == 44
    details = json.loads(log.details(2) or b"")
    assert len(details["fates"]) == 44
    assert details["n"] == 2
    assert log.details(3) is None


def test_what_is_no_event_is_left_out_and_the_others_are_entered(
    caplog: pytest.LogCaptureFixture,
) -> None:
    log = EventLog()
    for event in (event_of(1), SECRET, event_of(2)):
        log.observe(event)  # type: ignore[arg-type]
    assert log.drain()
    assert numbers(log) == [1, 2]
    assert caplog.messages == ["an event cannot be told: AttributeError"]


def test_the_time_of_the_answer_is_not_that_of_choosing() -> None:
    log = EventLog()
    log.enter(record(milliseconds={"reading": 1.5, "choosing": 2.0, "answer": 900.0}))
    assert log.news()["events"][0]["ms"] == 3.5


def test_news_are_what_changed() -> None:
    log, told = EventLog(), []
    end = log.listen(lambda: told.append(log.news()["version"]))
    log.enter(record())
    version = log.news()["version"]
    assert numbers(log, version) == []
    log.enter(record())
    assert numbers(log, version) == [2]
    end()
    log.enter(record())
    assert told == [1, 2]
    assert numbers(log) == [1, 2, 3]


def test_a_later_record_of_a_key_takes_the_place_of_the_earlier() -> None:
    log = EventLog(clock=iter([10.0, 20.0, 30.0]).__next__)
    assert log.enter(record("a", cost=5)) == 1
    log.enter(record("b", cost=7))
    version = log.news()["version"]
    assert log.enter(record("a", cost=50, model="later")) == 1
    [row] = log.news(version)["events"]
    assert (row["n"], row["model"], row["at"]) == (1, "later", 10.0)
    assert log.news()["totals"]["estimated.sent.cost"] == 57
    assert log.news()["totals"]["requests"] == 2


def test_the_oldest_are_forgotten_and_the_sums_stay() -> None:
    log = EventLog(most_events=3)
    for key in "abcde":
        log.enter(record(key))
    assert numbers(log) == [3, 4, 5]
    assert log.news()["oldest"] == 3
    assert log.news()["totals"]["requests"] == 5
    assert log.details(2) is None
    assert log.enter(record("a")) == 6  # it is a new one by now


def test_bytes_are_bounded_but_the_newest_stays() -> None:
    log = EventLog(most_bytes=1)
    log.enter(record())
    log.enter(record())
    assert numbers(log) == [2]


@pytest.mark.property
@given(
    st.lists(st.tuples(st.sampled_from(["", "a", "b", "c"]), st.integers(0, 9)), max_size=30),
    st.integers(1, 5),
)
def test_the_sums_are_those_of_a_log_without_bounds(entries: Any, most: int) -> None:
    log, kept, gone = EventLog(most_events=most), {}, 0
    for k, (key, cost) in enumerate(entries):
        n = log.enter(record(key, cost))
        kept[n] = cost
        assert max(kept) == len(kept)
        assert len(numbers(log)) <= most
        gone = k
    totals = log.news()["totals"]
    assert totals.get("estimated.sent.cost", 0) == sum(kept.values())
    assert totals.get("requests", 0) == len(kept)
    assert log.news()["version"] == (gone + 1 if entries else 0)


@pytest.mark.parametrize(
    ("data", "size"),
    [
        (json.dumps(RECORD), 1),
        (json.dumps([RECORD, RECORD]), 2),
        ("[]", 0),
        ("no json", None),
        ("{}", None),
        (json.dumps([RECORD, {}]), None),
        ("[" * 100_000, None),
    ],
    ids=["one", "two", "none", "no JSON", "empty", "one is none", "deep"],
)
def test_what_others_send_is_read(data: str, size: int | None) -> None:
    read = read_sent_events(data.encode())
    assert (None if read is None else len(read)) == size


@pytest.mark.parametrize("most", [0, -1, 1.5, True])
def test_bounds_are_checked(most: Any) -> None:
    with pytest.raises(SettingsError):
        EventLog(most)
