import pytest

from eunoe.stages.scoring.analysis import analyse_text
from eunoe.stages.scoring.asked_words import ASKED_NEAR_TERMS
from eunoe.stages.scoring.index import RelevanceIndex

FILLER = ["the garden needs rain", "we had soup for lunch", "my train was late again"]


def best(question, *said):
    index = RelevanceIndex()
    for turn, text in enumerate((*FILLER, *said, *FILLER)):
        index.append(analyse_text(text, role="user"), turn=turn, tokens=12)
    answer = index.relevance(analyse_text(question, role="user"))
    return int(answer.values.argmax()) - len(FILLER) if answer.values.any() else None


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("where did i put the waranty certifcate", "The warranty certificate is in the folder."),
        ("Bei wem bin ich versichert?", "Meine Krankenversicherung läuft bei der Barmenia."),
        ("Arabam hangi tamircide?", "Arabayı Bostancı'daki tamirciye bıraktım."),
        ("A quanto vendemmo gli appartamenti?", "Abbiamo venduto l'appartamento per 142 mila."),
        ("missä kaapissa sulakkeet ovat", "Varasulakkeita on kaapin ylähyllyllä."),
        ("What happened on 3 May?", "On 2024-05-03 the roof was repaired."),
        ("Wer war am 3. Mai hier?", "Am 03.05.2024 kam der Heizungsbauer."),
        ("dia chi dang van ngu", "Địa chỉ: số 14 đường Đặng Văn Ngữ."),
        ("is a kilogram of flour enough?", "One kg will do."),
    ],
)
def test_the_message_is_found_that_has_other_forms_of_the_words(question, answer):
    assert best(question, "some other thing happened here", answer) == 1


def test_an_english_word_that_is_found_has_no_near_words():
    index = RelevanceIndex()
    for text in ("the insurance is cheap", "a carinsurance costs more"):
        index.append(analyse_text(text, role="user"), turn=0, tokens=9)
    query = analyse_text("what does the insurance cost", role="user")
    assert "carinsur" not in dict(index.profile(query).weights)


def test_later_messages_change_no_earlier_answer():
    index = RelevanceIndex()
    index.append(analyse_text("the warranty ends soon", role="user"), turn=0, tokens=9)
    query = analyse_text("and the waranty", role="user")
    before = index.relevance(query, upto=1).values
    index.append(analyse_text("warantee", role="user"), turn=1, tokens=9)
    assert index.relevance(query, upto=1).values.tolist() == before.tolist()


def test_of_a_long_question_the_first_words_are_looked_for():
    index = RelevanceIndex()
    index.append(analyse_text("the warranty ends soon", role="user"), turn=0, tokens=9)
    strange = " ".join(
        f"qx{chr(97 + i % 26)}{chr(97 + i // 26)}zv" for i in range(ASKED_NEAR_TERMS)
    )
    near = index.profile(analyse_text(f"the waranty {strange}", role="user"))
    far = index.profile(analyse_text(f"the {strange} waranty", role="user"))
    assert [term for term, _ in near.weights] == ["warranti"]
    assert far.weights == ()
