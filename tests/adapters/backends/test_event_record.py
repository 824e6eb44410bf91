"""Events as records: they come back as they were sent, and what is none is refused."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ask import ask
from eunoe import RequestEvent
from eunoe_backends.event_record import SCORE_UNITS, event_record, read_record
from events import SECRET, event_of
from strategies import chats, profiles

EVENT = event_of()
RECORD = event_record(EVENT)
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)


def test_a_record_tells_what_the_event_tells() -> None:
    report = EVENT.report
    assert (RECORD["model"], RECORD["session"], RECORD["policy"]) == ("gpt-4o", "c", "stable")
    assert (RECORD["after"], RECORD["budget"]) == (report.tokens_after, 2000)
    assert RECORD["parts"] == EVENT.parts
    assert RECORD["ledger"] == EVENT.ledger
    assert RECORD["roles"] == "s" + "ua" * 41 + "u"
    assert RECORD["tokens"] == [d.tokens for d in report.decisions]
    letters = {"k": "kept", "r": "recalled", "d": "dropped", "g": "gist", "s": "summarised"}
    assert [letters[x] for x in RECORD["fates"]] == [d.fate for d in report.decisions]
    assert [RECORD["reasons"][k] for k in RECORD["why"]] == [d.reason for d in report.decisions]
    for score, decision in zip(RECORD["scores"], report.decisions, strict=True):
        assert abs(score / SCORE_UNITS - decision.score) <= 0.5 / SCORE_UNITS
    assert RECORD["cut"][0] == report.cut.index  # type: ignore[union-attr]
    assert RECORD["certificate"] == report.certificate.ratio
    assert RECORD["proof"] == report.certificate.sentence()
    assert RECORD["spans"]


def test_no_text_of_a_message_is_in_it() -> None:
    assert SECRET not in json.dumps(RECORD)
    assert SECRET not in repr(EVENT)


def test_a_record_of_a_long_chat_is_small() -> None:
    assert len(json.dumps(event_record(event_of(1000)), separators=(",", ":"))) < 30_000


@pytest.mark.property
@settings(max_examples=60)
@given(messages=chats(), profile=profiles)
def test_what_is_sent_comes_back_as_it_was(messages: Any, profile: Any) -> None:
    result = ask(messages, 400, profile, on_overflow="truncate")
    roles = tuple(str(m.get("role")) for m in messages)
    record = event_record(RequestEvent(report=result.report, roles=roles))
    assert len(record["fates"]) == len(messages)
    assert read_record(json.loads(json.dumps(record))) == record


@pytest.mark.property
@given(value=JSON_VALUES)
def test_what_is_no_record_is_none(value: Any) -> None:
    assert read_record(value) is None


@pytest.mark.property
@given(name=st.sampled_from(sorted(RECORD)), value=JSON_VALUES)
def test_whatever_stands_in_a_field_a_record_is_sound_or_none(name: str, value: Any) -> None:
    record = read_record({**copy.deepcopy(RECORD), name: value})
    if record is None:
        assert name in ("fates", "roles", "scores", "tokens", "why", "reasons")
        return
    assert read_record(json.loads(json.dumps(record, allow_nan=False))) == record
    assert record.keys() == RECORD.keys()
    assert {k: v for k, v in record.items() if k != name} == {
        k: v for k, v in RECORD.items() if k != name
    }
    assert len(record["fates"]) == len(record["scores"]) == len(record["tokens"])


@pytest.mark.parametrize(
    ("change", "read"),
    [
        ({"unknown": 1}, "unknown"),
        ({"model": "x" * 5000}, "model"),
        ({"session": "a\x00\x1b[31mb"}, "session"),
        ({"after": -1}, "after"),
        ({"after": 2**60}, "after"),
        ({"after": True}, "after"),
        ({"calibrated": float("nan")}, "calibrated"),
        ({"ledger": {"estimated.sent.cost": 10**30, "x": 1}}, "ledger"),
        ({"milliseconds": {"reading": -1, "choosing": 2.5}}, "milliseconds"),
        ({"spans": [[5, 2], [0, 10**6], "x", [1, 2]]}, "spans"),
        ({"warnings": ["a", 7]}, "warnings"),
    ],
)
def test_fields_are_bounded(change: dict[str, Any], read: str) -> None:
    record = read_record({**RECORD, **change})
    assert record is not None
    expected = {
        "unknown": None,
        "model": "x" * 199 + "…",
        "session": "a\ufffd\ufffd[31mb",
        "after": 0,
        "calibrated": 1.0,
        "ledger": {},
        "milliseconds": {"choosing": 2.5},
        "spans": [[1, 2]],
        "warnings": ["a", ""],
    }
    assert record.get(read) == expected[read]


def test_a_role_of_another_kind_is_other() -> None:
    event = replace(EVENT, roles=("critic", *EVENT.roles[1:]))
    assert event_record(event)["roles"].startswith("ou")
    assert event_record(replace(EVENT, roles=()))["roles"] == ""
