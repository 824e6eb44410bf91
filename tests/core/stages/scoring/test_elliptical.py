"""Questions that name nothing, in many languages, and such as do."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eunoe.stages.scoring.analysis import analyse_text
from eunoe.stages.scoring.elliptical import ELLIPTICAL_WORDS, goes_on, is_elliptical

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
WANTS_NOTHING = (
    "How are you?|Hello?|Yes?|¿Qué tal?|Thanks!|ok|Great|yes|no|I see|Go on|Danke|da|好的|谢谢|はい"
    "|네||?|…"
).split("|")
ADDS_A_MATTER = (
    "And the budget?|And in Porto?|What about Jonas?|Or the red one?|The port?|Phone number?"
    "|Lisbon?|Und das Budget?|¿Y el presupuesto?|Et le budget ?|А бюджет?|那预算呢？|退房时间呢？"
    "|電話番号は？|전화번호는요?"
).split("|")
STANDS_ALONE = (
    "Who is Marta?|Is Marta ill?|What is the code?|Hello|Fix the bug|And then we went home."
    "|And what would you say of the long book by Mann?|Can you help?|Wo wohnt sie?|你好吗？"
    "|他什么时候来呢？|いつですか？||?"
    "|E-mail of the head of sales at Meier?|Y-axis label of the second plot?|Or-Tools in a lab?"
).split("|")


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
    assert not goes_on(analyse_text(text, role="user"))


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


@pytest.mark.parametrize("text", ADDS_A_MATTER)
def test_what_adds_a_matter(text):
    assert goes_on(analyse_text(text, role="user"))
    assert goes_on(analyse_text(f" {text.lower()}\n", role="user"))


@pytest.mark.parametrize("text", STANDS_ALONE)
def test_what_stands_alone(text):
    assert not goes_on(analyse_text(text, role="user"))


@pytest.mark.parametrize("unit", ["ですか", "해요", "具体", "那么", "っては", "再更", "자세히"])
@pytest.mark.parametrize("end", ["", "?", "x"])
def test_what_comes_again_is_read_once(unit, end):
    text = ("なぜ" + unit * 40)[:90] + end  # a pattern that goes back would take years
    analysis = analyse_text(text, role="user")
    assert is_elliptical(analysis) == (unit == "ですか" and end != "x")
    assert not goes_on(analysis)
