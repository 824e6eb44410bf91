import pytest
from hypothesis import given
from hypothesis import strategies as st

from eunoe.stages.scoring.near_words import NearWords, near_slips


def words(*held):
    near = NearWords(set(held))
    near.extend(held)
    return near


@pytest.mark.parametrize(
    ("asked", "held"),
    [
        ("kaapissa", "kaapit"),  # Finnish
        ("arabam", "arabayi"),  # Turkish
        ("bezpieczniki", "bezpiecznikami"),  # Polish
        ("appartamenti", "appartamento"),  # Italian
        ("γιατρου", "γιατρος"),  # Greek
        ("лікарні", "лікарня"),  # Ukrainian
    ],
)
def test_inflected_forms_are_near(asked, held):
    near = words("other", held, "further")
    assert near.inflected(asked) == [held]
    assert near.inflected(held) == [asked] or near.inflected(held) == []


@pytest.mark.parametrize(("asked", "held"), [("musician", "music"), ("himalaya", "himalayan")])
def test_a_stem_is_near_what_is_derived_from_it(asked, held):
    assert words(held, "musical").inflected(asked, derived=True)[0] == held


@pytest.mark.parametrize(("asked", "held"), [("convers", "convert"), ("common", "commit")])
def test_stems_that_end_otherwise_are_other_words(asked, held):
    assert words(held).inflected(asked, derived=True) == []


@pytest.mark.parametrize(
    ("asked", "held"),
    [
        ("versicherung", "krankenversicherung"),
        ("versichert", "krankenversicherung"),
        ("zahnarzttermin", "zahnarzt"),
        ("zahnarzttermin", "termin"),
        ("verzekering", "ziektekostenverzekering"),
        ("shelf", "bookshelf"),
    ],
)
def test_a_word_is_near_one_that_it_is_joined_in(asked, held):
    assert held in words("haus", held, "tisch").joined(asked)


@pytest.mark.parametrize(
    ("asked", "held"),
    [
        ("resturant", "restaurant"),
        ("certifcate", "certificate"),
        ("borhmaschine", "bohrmaschine"),
        ("gynecolgist", "gynaecologist"),
        ("schluessel", "schlussel"),
    ],
)
def test_slips_are_found(asked, held):
    assert words("state", held, "house").mistyped(asked) == [held]


@pytest.mark.parametrize(
    ("asked", "held"),
    [("state", "stage"), ("father", "gather"), ("ticket", "thicker"), ("4711", "4712")],
)
def test_other_words_are_no_slips(asked, held):
    assert words(held).mistyped(asked) == []


def test_parts_are_found_in_words_and_at_their_beginning():
    near = words("2024-05-03", "3.5.2024", "13.5.2024", "x")
    assert near.holding(["-05-03", "\n3.5."]) == ["2024-05-03", "3.5.2024"]
    assert near.holding(["zz"]) == []


def test_signs_of_syllables_have_no_near_words():
    near = words("プロジェクトの", "プロジェクト")
    assert not near.inflected("プロジェクト")
    assert not near.joined("プロジェクト")
    assert not near.mistyped("プロジェクト")


@given(st.text("abc", max_size=7), st.text("abc", max_size=7))
def test_slips_are_the_same_both_ways(word, other):
    assert near_slips(word, other, 3) == near_slips(other, word, 3)
    assert (near_slips(word, other, 3) == 0) == (word == other)
