import pytest
from hypothesis import given
from hypothesis import strategies as st

from eunoe.stages.scoring.folding import fold_text
from eunoe.stages.scoring.word_tables import (
    MARK_CAPITAL,
    MARK_FIRST_PERSON,
    MARK_IDENTIFIER,
    MARK_MONTH,
    MARK_NUMBER,
    MARK_STOP,
    MARK_TIME,
)
from eunoe.stages.scoring.words import (
    guess_language,
    language_terms,
    look_up_word,
    terms_of_text,
)


def terms(text):
    return terms_of_text(text)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("the cats and I", ["cat"]),
        ("snake_case_id", ["snake", "case", "id", "snake_case_id"]),
        ("getUserName", ["get", "user", "name", "getusername"]),
        ("src/app/main.py", ["src", "applic", "main", "py", "src/app/main.py"]),
        ("v2.1.3", ["2.1.3", "v2.1.3"]),
        ("Müller's", ["muller"]),
        ("ＦＵＬＬ", ["full"]),
        ("项目", ["项", "目", "项目"]),
        (
            "プロジェクト",
            ["プ", "ロ", "ジ", "ェ", "ク", "ト", "プロ", "ロジ", "ジェ", "ェク", "クト"],
        ),
        ("프로젝트", ["프로", "로젝", "젝트"]),
        ("القاهرة", ["قاهر"]),
        ("машины", ["машин"]),
        ("हिन्दी", ["हिन्द"]),
        ("गाड़ी खरीदी।", ["गाड़", "खरीद"]),
        ("আমার বোন", ["আমার", "বোন"]),
        ("மதுரையில்", ["மதுரையில்"]),
        ("", []),
        ("!!! ...", []),
    ],
)
def test_terms_of_every_script(text, wanted):
    assert terms(text) == wanted


def test_a_thai_sentence_and_a_word_in_it_share_terms():
    assert set(terms("กินข้าว")) & set(terms("สวัสดีครับผมชอบกินข้าว"))


def test_an_error_name_is_found_whole_and_in_parts():
    assert {"error", "nonetypeerror"} <= set(terms("NoneTypeError"))


@pytest.mark.parametrize(
    ("word", "mark"),
    [
        ("Berlin", MARK_CAPITAL),
        ("I", MARK_FIRST_PERSON),
        ("the", MARK_STOP),
        ("2024", MARK_NUMBER | MARK_TIME),
        ("May", MARK_MONTH),
        ("yesterday", MARK_TIME),
        ("a/b.py", MARK_IDENTIFIER),
        ("twelve", MARK_NUMBER),
    ],
)
def test_marks(word, mark):
    assert look_up_word(word)[1] & mark == mark


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("wann habe ich die neuen bilder gekauft", "de"),
        ("quand est ce que nous avons parle de la maison", "fr"),
        ("cuando hemos hablado de la casa con ellos", "es"),
        ("when did we talk about the house", "en"),
        ("xyz", "en"),
    ],
)
def test_language_by_stop_words(text, language):
    assert guess_language(text.split()) == language


def test_another_language_adds_light_stems_without_its_stop_words():
    assert language_terms(["die", "machen"], "de") == ["mach"]
    assert language_terms(["machen"], "en") == []


@pytest.mark.property
@given(st.text(max_size=60))
def test_any_text_gives_short_terms_and_the_same_ones_again(text):
    once = terms(text)
    assert once == terms(text)
    assert all(once)
    assert fold_text(text) == fold_text(text)
