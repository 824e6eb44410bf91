"""Words of mixed scripts: names and paths stand alone, whatever is written around them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eunoe.stages.scoring.analysis import analyse_text
from eunoe.stages.scoring.word_splitting import split_words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("open bill.py, or a/b-c_d!", ["open", "bill.py", "or", "a/b-c_d"]),
        ("Öffne bill.py für Ärzte", ["Öffne", "bill.py", "für", "Ärzte"]),
        ("我又改了bill.py的内容。", ["我又改了", "bill.py", "的内容"]),
        ("またsrc/bill_2.pyを開く", ["また", "src/bill_2.py", "を開く"]),
        ("用USB接口", ["用", "USB", "接口"]),
        ("또 src/bill_2.py를 연다", ["또", "src/bill_2.py", "를", "연다"]),
        ("เปิดbill.pyอีก", ["เปิด", "bill.py", "อีก"]),
        ("5월 3일, 2024년", ["5월", "3일", "2024년"]),
        ("第3章，2024年5月3日", ["第3章", "2024年5月3日"]),
        ("端口是5433", ["端口是5433"]),
        ("café的名字", ["café的名字"]),
    ],
)
def test_words(text, words):
    assert split_words(text) == words


@pytest.mark.parametrize(
    ("spaced", "glued"),
    [
        ("我又改了 bill.py 的内容。", "我又改了bill.py的内容。"),
        ("또 bill.py 를 연다.", "또 bill.py를 연다."),
        ("เปิด bill.py อีก", "เปิดbill.pyอีก"),
    ],
)
def test_a_name_is_found_without_blanks_around_it(spaced, glued):
    assert analyse_text(glued, role="user").entities == ("bill.py",)
    assert analyse_text(glued, role="user").terms == analyse_text(spaced, role="user").terms


@given(st.text(st.sampled_from("ab1_.-/ä的か 한,é"), max_size=30))
def test_no_letter_is_lost(text):
    said = [c for c in text if c.isalnum() or c == "_"]
    assert [c for word in split_words(text) for c in word if c.isalnum() or c == "_"] == said
