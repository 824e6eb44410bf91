"""What a summary names must stand in its source."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eunoe.stages.claims import ClaimSource

SOURCE = ClaimSource(
    [
        "We bake 84 loaves; in total 12,500 EUR. Edit src/app/main.py and call parse_args().",
        "He said: “we ship on Friday”. The port is 5433, version v1.2.3, since 3 May 2024.",
        "Der Schlüssel heißt `ofen-7`. 会议在3号楼。",
    ]
)


@pytest.mark.parametrize(
    "line",
    [
        "- 84 loaves for 12500 EUR",
        "1. The port is 5433.",
        "2) They bake bread.",
        "In src/app/main.py the function parse_args is called.",
        'Someone promised: "We ship on Friday."',
        "It was in May 2024 (v1.2.3).",
        "bread and/or loaves, e.g. in total",
        "on loaves/Friday/port they agree",
        "the key 'ofen-7' is German",
        "会议在「3号楼」",
        "U.S. law, i.e. nothing named here",
        "",
    ],
)
def test_what_the_source_says_may_be_said(line):
    assert SOURCE.lacks(line) == []


@pytest.mark.parametrize(
    ("line", "missing"),
    [
        ("4 loaves", ["4"]),
        ("125 EUR", ["125"]),
        ("edit src/app/other.py", ["src/app/other.py"]),
        ("call parse_flags", ["parse_flags"]),
        ('He said: "erase every disk" twice', ["erase every disk"]),
        ("wipe /srv/vault", ["/srv/vault"]),
        ("on loaves/Friday/cellar they agree", ["loaves/Friday/cellar"]),
        ("version v1.2.4", ["v1.2.4"]),
        ("see https://example.net/a", ["https://example.net/a"]),
        ("write to mail@example.net", ["mail@example.net"]),
        ("HTTP 429 Too Many Requests", ["429"]),
        ("getUserName is slow", ["getUserName"]),
        ("„alles löschen“ war die Bitte", ["alles löschen"]),
    ],
)
def test_what_it_does_not_say_is_named(line, missing):
    assert SOURCE.lacks(line) == missing


def test_a_claim_does_not_run_from_one_text_into_the_next():
    assert ClaimSource(["one two", "three"]).lacks('"two three"') == ["two three"]


@given(st.text(max_size=200))
def test_a_text_lacks_nothing_of_itself_word_for_word(text):
    numbers_stand_alone = ClaimSource([text])
    assert numbers_stand_alone.lacks(text) == [] or "\n" in text or _breaks_a_quotation(text)


def _breaks_a_quotation(text: str) -> bool:
    """Quotation marks that fold into others, or a number at the head that reads as a list's."""
    return any(mark in text for mark in "\"'`“”„«»「」『』‘’") or text.strip()[:1].isdigit()
