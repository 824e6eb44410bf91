import pytest

from eunoe.stages.scoring.script_stems import stem_script


@pytest.mark.parametrize(
    ("form", "other"),
    [
        ("العيادة", "وعيادته"),
        ("الطبيب", "طبيبي"),
        ("السيارات", "سيارة"),
        ("המרפאה", "והמרפאה"),
        ("ספרים", "הספר"),
        ("गाड़ी", "गाड़ियों"),
        ("улица", "улице"),
    ],
)
def test_forms_of_a_word_share_a_stem(form, other):
    assert stem_script(form) == stem_script(other)


@pytest.mark.parametrize("word", ["من", "על", "का", "日本", "ไทย"])
def test_short_words_and_other_scripts_stay(word):
    assert stem_script(word) == word
