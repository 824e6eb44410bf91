"""The shorter forms of one atom: how they read, and what they are known by."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eunoe.domain.atom import atom_of
from eunoe.domain.report import Fate
from eunoe.pipeline.recalling.short_forms import (
    STUB_CHARACTERS,
    ShortForm,
    stub_note,
    stub_text,
)
from eunoe.stages.selection.tiers import Tier


@pytest.mark.parametrize(
    ("text", "stub"),
    [
        ("", ""),
        (" \n\t ", ""),
        ("Our travel rules:\n1. Ask first.", "Our travel rules: …"),
        ("  One sentence.  Another one.", "One sentence. …"),
        ("lots   of\tblanks", "lots of blanks …"),
        ("旅行规定如下。第一条先问。", "旅行规定如下。 …"),
        ("word " * 60, " ".join(["word"] * 16) + " …"),
        ("x" * 300, "x" * STUB_CHARACTERS + " …"),
        ("👩‍💻" * 60, "👩‍💻" * (STUB_CHARACTERS // len("👩‍💻")) + " …"),
    ],
)
def test_how_a_stub_reads(text, stub):
    assert stub_text(text) == stub


@pytest.mark.property
@given(st.text(max_size=600))
def test_a_stub_is_one_short_line_of_the_text(text):
    stub = stub_text(text)
    assert len(stub) <= STUB_CHARACTERS + 2
    assert stub.splitlines() in ([], [stub])
    if stub:
        assert stub.endswith(" …")
        assert stub[:-2] in " ".join(text.split())


def test_a_stub_says_how_large_it_is():
    assert stub_note(1840) == "not shown, 1,840 tokens"


@pytest.mark.parametrize(
    ("tier", "fate"),
    [(Tier.GIST, Fate.GIST), (Tier.SUMMARY, Fate.SUMMARISED), (Tier.STUB, Fate.STUB)],
)
def test_one_form_speaks_for_all_messages_of_an_atom(tier, fate):
    form = ShortForm(atom_of((4, 5, 6), 2), tier, "in short", 9)
    parts = form.parts()
    assert [parts[i].text for i in (4, 5, 6)] == ["in short", "", ""]
    assert {part.fate for part in parts.values()} == {fate}
