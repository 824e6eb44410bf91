import pytest
from hypothesis import given
from hypothesis import strategies as st

from eunoe.stages.scoring.stemming import stem_english, stem_light


@pytest.mark.parametrize(
    "forms",
    [
        "buy bought buys buying",
        "go went gone goes going",
        "run ran running runs",
        "child children kids kid",
        "connect connected connecting connection connections",
        "hope hoped hoping hopes",
        "hop hopped hopping hops",
        "party parties",
        "relate related relating relation",
        "happy happiness",
        "january jan",
        "two 2",
    ],
)
def test_forms_of_one_word_meet(forms):
    assert len({stem_english(word) for word in forms.split()}) == 1


@pytest.mark.parametrize(
    ("word", "stem"),
    [
        ("caresses", "caress"),
        ("ponies", "poni"),
        ("ties", "tie"),
        ("cats", "cat"),
        ("agreed", "agre"),
        ("plastered", "plaster"),
        ("motoring", "motor"),
        ("conflated", "conflat"),
        ("falling", "fall"),
        ("hopefulness", "hope"),
        ("formality", "formal"),
        ("adjustment", "adjust"),
        ("adoption", "adopt"),
        ("controlling", "control"),
        ("news", "news"),
        ("is", "is"),
    ],
)
def test_published_examples(word, stem):
    assert stem_english(word) == stem


@pytest.mark.parametrize(
    ("language", "forms"),
    [
        ("de", "machen machte machst"),
        ("fr", "parler parlez parlent"),
        ("es", "hablar hablando hablado"),
        ("pt", "trabalhar trabalhando trabalharam"),
        ("it", "parlare parlando parlato"),
        ("nl", "werken werkt"),
        ("ru", "машины машина машину"),
    ],
)
def test_inflections_of_other_languages_meet(language, forms):
    assert len({stem_light(word, language) for word in forms.split()}) == 1


def test_an_unknown_language_changes_nothing():
    assert stem_light("machen", "xx") == "machen"


@pytest.mark.property
@given(st.text(alphabet="abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=20))
def test_a_stem_is_lower_case_and_never_empty(word):
    stem = stem_english(word)
    assert stem
    assert stem == stem.lower()
