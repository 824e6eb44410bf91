import pytest
from hypothesis import given
from hypothesis import strategies as st

from eunoe.stages.scoring.folding import fold_text


@pytest.mark.parametrize(
    ("text", "typed"),
    [
        ("Đống Đa", "dong da"),
        ("Łódź", "lodz"),
        ("Søren", "soren"),
        ("ışık", "isik"),
        ("Œuvre", "oeuvre"),
        ("Ёлка", "елка"),
        ("متى", "متي"),
        ("ｆｕｌｌ", "full"),
    ],
)
def test_letters_fold_to_what_is_typed_without_a_key_for_them(text, typed):
    assert fold_text(text) == typed


@given(st.text(max_size=40))
def test_what_is_folded_once_is_folded(text):
    once = fold_text(text)
    assert fold_text(once) == fold_text(fold_text(once))
