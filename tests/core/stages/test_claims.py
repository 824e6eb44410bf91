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
        "𠮷src/app/main.py々を見る",
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


PATHS = ClaimSource(
    [
        "See /etc/passwd, src/app.pyc and /srv/data/old-logs. Call get_user_names(x), then stop.",
        "编辑src/main.py文件。 Die conf.toml-Datei; eunoe.domain.errors; see (lib/io.py).",
        "Open 'tool_a': \"tool_b\". v1.2.34 of run13x",
    ]
)


@pytest.mark.parametrize(
    "word",
    [
        "/etc/passwd",
        "/etc",
        "etc/passwd",
        "src/app.pyc",
        "app.pyc",
        "/srv/data",
        "/srv/data/",
        "get_user_names",
        "get_user_names(x)",
        "src/main.py",
        "修改src/main.py了",
        "conf.toml",
        "domain.errors",
        "lib/io.py",
        "lib/io.py.",
        "tool_a",
        "tool_b,",
        "`tool_a`",
    ],
)
def test_a_name_may_be_said_with_what_stands_around_it(word):
    assert PATHS.lacks(f"It is {word}") == []


@pytest.mark.parametrize(
    "word",
    [
        "/etc/pass",
        "src/app.py",
        "/srv/data/old",
        "get_user_name",
        "user_names",
        "src/main.p",
        "eunoe.domain",
        "run13",
        "tool_",
    ],
)
def test_a_piece_of_a_name_is_another_name(word):
    assert PATHS.lacks(f"It is {word} now") == [word]


def test_a_claim_does_not_run_from_one_text_into_the_next():
    assert ClaimSource(["one two", "three"]).lacks('"two three"') == ["two three"]


@given(st.text(max_size=200))
def test_a_text_lacks_nothing_of_itself_word_for_word(text):
    numbers_stand_alone = ClaimSource([text])
    assert numbers_stand_alone.lacks(text) == [] or "\n" in text or _breaks_a_quotation(text)


def _breaks_a_quotation(text: str) -> bool:
    """Quotation marks that fold into others, or a number at the head that reads as a list's."""
    return any(mark in text for mark in "\"'`“”„«»「」『』‘’") or text.strip()[:1].isdigit()
