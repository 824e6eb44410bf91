"""Questions that name nothing, in many languages, and such as do."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eunoe.stages.scoring.analysis import analyse_text
from eunoe.stages.scoring.elliptical import ELLIPTICAL_WORDS, is_elliptical

NAMES_NOTHING = (
    "Why?|When exactly?|How much was it?|Tell me more.|more details please|Are you sure?|Really?"
    "|Explain|And then?|Which one?|What else?|How long did it take?|Give me an example"
    "|Warum?|Wann genau?|Und wo?|Wirklich?|Erklär das genauer|Et pourquoi ?|Combien exactement ?"
    "|¿Por qué?|¿Estás seguro?|Per quando?|Più dettagli|Hvornår?|Varför?|Dlaczego?|Почему?"
    "|А когда именно?|Neden?|لماذا؟|למה?|为什么？|什么时候呢？|详细说说|具体呢？|なぜ？"
    "|いつですか？|もっと詳しく教えて|왜?|언제요?|더 자세히 말해 줘|ทำไม"
).split("|")
NAMES_SOMETHING = (
    "And the budget?|And in Porto?|What about Jonas?|And the son?|Why Postgres?|Who is Marta?"
    "|Where is the file?|What time is it in Tokyo?|Und das Budget?|那预算呢？|¿Y el presupuesto?"
    "|Explain the lease|More coffee please|Fix the bug"
).split("|")
WANTS_NOTHING = "Thanks!|ok|Great|yes|no|I see|Go on|Danke|da|好的|谢谢|はい|네||?|…".split("|")


def asked(text):
    return is_elliptical(analyse_text(text, role="user"))


@pytest.mark.parametrize("text", NAMES_NOTHING)
def test_what_names_nothing(text):
    assert asked(text)
    assert asked(f"  {text.upper()} ")


@pytest.mark.parametrize("text", NAMES_SOMETHING)
def test_what_names_something(text):
    assert not asked(text)


@pytest.mark.parametrize("text", WANTS_NOTHING)
def test_what_wants_nothing(text):
    assert not asked(text)


def test_a_word_of_another_language_is_a_word():
    assert not asked("And the son?")  # a stop word in Spanish
    assert asked("son ellos?")


@given(st.text(max_size=60))
def test_a_name_beside_it_is_enough(text):
    assert not asked(f"{text} Vendelbo?")


def test_a_long_one_is_not_looked_at():
    assert asked(" ".join(["why"] * ELLIPTICAL_WORDS) + "?")
    assert not asked(" ".join(["why"] * (ELLIPTICAL_WORDS + 1)) + "?")
    assert not asked("为什么" * 40 + "？")
