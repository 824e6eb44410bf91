import pytest

from eunoe.stages.scoring.cues import (
    CUE_ASSISTANT,
    CUE_FOLLOW_UP,
    CUE_HISTORY,
    CUE_ORDER,
    CUE_RECALL,
    CUE_SUMMARY,
    CUE_WANTS,
    find_cues,
    is_standing,
    question_type,
)


@pytest.mark.parametrize(
    ("text", "cue"),
    [
        ("What did we discuss about the budget?", CUE_RECALL),
        ("do you remember my dog", CUE_RECALL),
        ("Have I ever mentioned Flask?", CUE_RECALL),
        ("我们上次说的项目呢", CUE_RECALL),
        ("さっきの話", CUE_RECALL),
        ("помнишь наш план?", CUE_RECALL),
        ("What did you suggest for dinner?", CUE_ASSISTANT),
        ("In what order did I bring these up?", CUE_ORDER),
        ("Give me a summary", CUE_SUMMARY),
        ("what was it originally", CUE_HISTORY),
        ("thanks, next", CUE_FOLLOW_UP),
        ("好的，继续", CUE_FOLLOW_UP),
        ("List the postcodes we deliver to", CUE_WANTS),
        ("run the report that we set up", CUE_WANTS),
        ("he wants to know when it opens", CUE_WANTS),
        ("Nenn mir alle Postleitzahlen", CUE_WANTS),
        ("la columna que preparaste", CUE_WANTS),
        ("列出所有邮编", CUE_WANTS),
        ("podaj mi numer szafki", CUE_WANTS),
        ("bana dolabı söyle", CUE_WANTS),
        ("kerro kaapin numero", CUE_WANTS),
        ("nói cho tôi biết lần trước ở đâu", CUE_RECALL),
        ("pamiętasz nasz plan", CUE_RECALL),
        ("planımızı hatırlıyor musun", CUE_RECALL),
        ("muistatko suunnitelman", CUE_RECALL),
    ],
)
def test_cues(text, cue):
    assert find_cues(text) & cue


@pytest.mark.parametrize(
    "text",
    [
        "Which oven had you recommended?",
        "your advice on the oven",
        "Welchen Ofen hattest du empfohlen?",
        "Welchen Ofen haben Sie empfohlen?",
        "der Ofen, den du mir damals empfohlen hast",
        "Was war dein Vorschlag?",
        "Quel four as-tu recommandé ?",
        "le four que tu m'as conseillé",
        "¿Qué horno recomendaste?",
        "¿Cuál fue tu recomendación?",
        "Qual forno você recomendou?",
        "Che forno mi hai consigliato?",
        "Какую печь ты мне посоветовал?",
        "Welke oven had je aangeraden?",
        "Jaki piec mi poleciłeś?",
        "Hangi fırını önermiştin?",
        "Minkä uunin suosittelit?",
        "Vilken ugn rekommenderade du?",
        "أي فرن نصحتني به؟",
        "איזה תנור המלצת?",
        "你之前推荐我们买哪个烤箱？",
        "你推荐的烤箱是哪个？",
        "勧めてくれたオーブンは？",
        "추천해 준 오븐이 뭐였지?",
    ],
)
def test_what_the_assistant_said_is_asked_for_in_many_languages(text):
    assert find_cues(text) & CUE_ASSISTANT


@pytest.mark.parametrize(
    "text",
    [
        "What would you recommend?",
        "Wir brauchen einen Rat.",
        "Was würdest du empfehlen?",
        "Wo haben sie gewohnt?",
        "Wann hat sie ihre Antwort geschickt?",
        "Que me recommandes-tu ?",
        "¿Qué me recomiendas?",
        "Che mi consigli?",
        "Что посоветуешь?",
        "你建议我买哪个烤箱？",
        "おすすめを教えて",
        "추천해 줘",
    ],
)
def test_who_asks_for_advice_does_not_ask_what_was_said(text):
    assert not find_cues(text) & CUE_ASSISTANT


@pytest.mark.parametrize("text", ["Write a sorting function.", "the cat sat", ""])
def test_plain_texts_have_no_cue(text):
    assert find_cues(text) == 0


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("When did she leave?", "when"),
        ("How many dogs?", "how_many"),
        ("What is the average response time?", "how_many"),
        ("Who came?", "who"),
        ("Which city did he visit?", "where"),
        ("什么时候截止？", "when"),
        ("сколько стоит?", "how_many"),
        ("Why?", "other"),
    ],
)
def test_question_types(text, kind):
    assert question_type(text) == kind


def test_standing_rules():
    assert is_standing("Always use metric units.")
    assert is_standing("Fine. From now on answer in French")
    assert is_standing("I prefer short answers")
    assert not is_standing("I was always late")
