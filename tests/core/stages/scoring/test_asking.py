import pytest

from eunoe.stages.scoring.analysis import analyse_text
from eunoe.stages.scoring.asking import is_question


def test_what_asks():
    assert is_question("what now", ["what", "now"])
    assert is_question("now?", ["now"])
    assert is_question("截止？", ["截止"])
    assert not is_question("now", ["now"])


@pytest.mark.parametrize(
    "text",
    [
        "in which drawer are the fuses",
        "bei wem bin ich versichert",
        "in welchem Schrank liegen die Sicherungen",
        "à quel étage est le bureau",
        "in quale anno l'hai venduto",
        "waar liggen de zekeringen",
        "var ligger säkringarna",
        "hvem har nøglen",
        "na jakiej ulicy mieszkam",
        "gdzie stoi łódka",
        "kde bydlím",
        "missä kaapissa sulakkeet ovat",
        "hol van a kulcs",
        "lamba hangi çekmecede",
        "cầu chì ở tủ nào",
        "nha em o dau",
        "в каком городе живёт сестра",
        "де живе сестра",
        "Πού είναι το ιατρείο;",
        "أين العيادة",
        "באיזה רחוב המרפאה?",
        "बहन की गाड़ी किस रंग की है",
        "护照在哪个抽屉里",
        "パスポートはどこですか",
        "여권이 어디 있어요",
        "น้องสาวทำงานที่ไหน",
    ],
)
def test_questions_of_many_languages_with_no_mark(text):
    assert analyse_text(text, role="user").asks


@pytest.mark.parametrize(
    "text",
    [
        "Thanks, that is all for today.",
        "var x = 1",
        "I know which one I want",
        "Kim said so",
        "Das ist gut so.",
        "Dziękuję bardzo.",
        "Teşekkürler, bu yeterli.",
        "谢谢，就这样。",
        "ありがとう、助かりました。",
    ],
)
def test_statements_of_many_languages(text):
    assert not analyse_text(text, role="user").asks
