import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eunoe.stages.scoring.analysis import analyse_text
from eunoe.stages.scoring.index import RelevanceIndex

WORDS = "dog cat tennis Berlin 2023 May I you bought when src/a.py 项目 error Mel".split()
TEXT = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)
MESSAGE = st.tuples(
    st.sampled_from(["", "[8 May, 2023] ", "[2024-02-01 10:00] "]),
    TEXT,
    st.sampled_from(["user", "assistant", "tool"]),
    st.sampled_from([None, "Ann", "Bob"]),
)


def index_of(messages):
    index = RelevanceIndex()
    for i, (stamp, text, role, name) in enumerate(messages):
        analysis = analyse_text(stamp + text, role=role, name=name)
        index.append(analysis, turn=i // 2, tokens=len(text) + 1)
    return index


def plain(*texts, role="user"):
    return index_of([("", text, role, None) for text in texts])


def ask(index, text, **more):
    return index.relevance(analyse_text(text, role="user"), **more)


@pytest.mark.property
@settings(max_examples=60)
@given(st.lists(MESSAGE, max_size=12), st.lists(MESSAGE, max_size=6), TEXT)
def test_later_messages_never_change_an_earlier_answer(head, tail, question):
    small, large = index_of(head), index_of(head + tail)
    one = ask(small, question + "?")
    other = ask(large, question + "?", upto=len(head))
    assert one.values.tobytes() == other.values.tobytes()
    assert one.profile == other.profile
    assert {k: v.tobytes() for k, v in one.signals.items()} == {
        k: v.tobytes() for k, v in other.signals.items()
    }


@pytest.mark.property
@settings(max_examples=60)
@given(st.lists(MESSAGE, max_size=12), TEXT)
def test_values_are_finite_in_range_and_repeatable(messages, question):
    index = index_of(messages)
    one, again = ask(index, question), ask(index, question)
    assert one.values.shape == (len(messages),)
    assert np.isfinite(one.values).all()
    assert ((one.values >= 0) & (one.values <= 1)).all()
    assert one.values.tobytes() == again.values.tobytes()


@pytest.mark.parametrize("question", ["", "   ", "the and of", "unheard words", "?!"])
def test_no_common_word_gives_zero(question):
    assert ask(plain("red apple", "green pear"), question).values.tolist() == [0.0, 0.0]


def test_no_message_and_one_message():
    assert ask(RelevanceIndex(), "apple").values.size == 0
    assert ask(plain("red apple"), "apple").values[0] > 0.0
    assert ask(plain(""), "apple").values.tolist() == [0.0]


def test_identical_messages_with_the_same_surroundings_are_close():
    values = ask(plain(*["red apple"] * 30), "apple").values
    assert np.ptp(values[9:17]) < 1e-9


def test_the_answer_is_found():
    index = plain("we talked of rain", "my dog is called Rex", "ok", "the car is red", "fine")
    assert ask(index, "What is the name of my dog?").values.argmax() == 1


def test_inflection_script_and_identifier():
    index = plain("nothing here", "I bought two bikes", "项目截止日期是周五", "see src/app/main.py")
    assert ask(index, "When did I buy a bike?").values.argmax() == 1
    assert ask(index, "那个项目什么时候截止？").values.argmax() == 2
    assert ask(index, "what is in main.py").values.argmax() == 3


def test_who_is_meant_decides_between_equals():
    index = index_of([("", "I love hiking", "user", "Ann"), ("", "I love hiking", "user", "Bob")])
    values = ask(index, "What does Bob love about hiking?").values
    assert values[1] > values[0]


def test_the_first_of_two_names_is_the_subject():
    index = index_of([("", "a red scarf", "user", "Ann"), ("", "a red scarf", "user", "Bob")])
    assert np.diff(ask(index, "What scarf did Bob give to Ann?").values)[0] > 0
    assert "speaker" not in ask(index, "Do Bob and Ann like the scarf?").signals


def test_what_the_assistant_said_is_asked_for():
    index = index_of(
        [("", "use a red car", "user", None), ("", "use a red car", "assistant", None)]
    )
    assert np.diff(ask(index, "What did you say about the car?").values)[0] > 0
    assert np.diff(ask(index, "What did I say about the car?").values)[0] < 0


def test_a_date_points_to_its_day():
    index = index_of(
        [
            ("[8 May, 2023] ", "we went out", "user", None),
            ("[9 July, 2023] ", "hello", "user", None),
        ]
    )
    values = ask(index, "What happened in July 2023?").values
    assert values[1] > values[0]


def chat_of(texts) -> RelevanceIndex:
    index = RelevanceIndex()
    for i, text in enumerate(texts):
        index.append(analyse_text(text, role="user"), turn=i, tokens=3)
    return index


def test_likeness_is_one_more_signal_and_none_is_neutral():
    index = chat_of(["same text"] * 3)
    query = analyse_text("text", role="user")
    values = index.relevance(query, likeness=np.array([0.1, 0.9, np.nan])).values
    assert values[1] > values[2] > values[0]
    assert "vector" not in ask(index, "text").signals
    nothing = index.relevance(query, likeness=np.full(3, np.nan))
    assert nothing.values.tolist() == ask(index, "text").values.tolist()


def test_likeness_beyond_chance_finds_what_shares_no_word():
    index = chat_of(["alpha beta"] * 40)
    query = analyse_text("unheard", role="user")
    likeness = np.tile([0.1, 0.2], 20)
    assert not index.relevance(query, likeness=likeness).values.any()
    likeness[7] = 0.9
    assert int(np.argmax(index.relevance(query, likeness=likeness).values)) == 7


def test_labels_weigh_what_there_is():
    index = chat_of(["same text"] * 4)
    query = analyse_text("text", role="user")
    values = index.relevance(query, labels=np.array([1.0, np.nan, 0.5, 0.05])).values
    assert values[0] > values[1] == values[2] > values[3]
    unheard = analyse_text("unheard", role="user")
    found = index.relevance(unheard, labels=np.array([np.nan, 0.05, 0.5, 0.75])).values
    assert int(np.argmax(found)) == 3


def test_a_time_out_of_range_is_unknown():
    index = RelevanceIndex()
    index.append(analyse_text("a dog", role="user"), turn=0, tokens=3, stamp=10**15)
    assert np.isfinite(ask(index, "dog in May 2023").values).all()


def test_plain_bm25_roles_and_turns():
    index = index_of([("", "dog", "user", None), ("", "cat", "assistant", None)])
    query = analyse_text("dog", role="user")
    assert index.bm25(query)[0] > 0.0 == index.bm25(query)[1]
    assert index.bm25(query, upto=0).size == 0
    assert index.roles().tolist() == [1, 2]
    assert index.turns().tolist() == [0, 0]


def test_the_answer_says_how_far_each_term_reaches():
    index = plain("a dog", "a cat", "the dog and the cow", "a cat")
    assert ask(index, "dog, cat or moon?").reaches == {"dog": (0, 2), "cat": (1, 3)}
    query = analyse_text("dog or cow", role="user")
    assert index.relevance(query, upto=2).reaches == {"dog": (0, 0)}
    assert index.relevance(query, upto=0).reaches == {}


def test_rare_terms_are_those_of_a_few_messages():
    index = plain("red fox", "blue fox", "red fox", "sea")
    assert index.rare_holders(["red", "fox", "sea", "moon"], 4, 2) == {"red": [0, 2]}
    assert index.rare_holders(["red", "fox"], 2, 2) == {"fox": [0, 1]}
    assert index.rare_holders([], 4, 2) == {}


LANGUAGES = {
    "de": ("Ich habe gestern ein neues Fahrrad gekauft", "Wann kaufte ich das Fahrrad?",
           ["Das Wetter ist heute schön", "Meine Schwester wohnt in Wien", "Wir kochen Suppe"]),
    "fr": ("J'ai acheté une maison à Lyon", "Quelle maison ai-je achetée ?",
           ["Il fait beau aujourd'hui", "Ma sœur travaille à Paris", "Nous mangeons du pain"]),
    "es": ("Mi perro se llama Toby", "¿Cómo se llaman mis perros?",
           ["Hoy hace mucho calor", "Trabajo en una oficina", "Vamos a comer arroz"]),
    "pt": ("Comprei um carro vermelho em março", "Que carro eu comprei?",
           ["Hoje está chovendo", "Minha irmã mora em Lisboa", "Gosto de café"]),
    "it": ("Ho dipinto la cucina di giallo", "Di che colore è la cucina dipinta?",
           ["Oggi piove molto", "Mia sorella vive a Roma", "Mangiamo la pasta"]),
    "ru": ("Мы купили новую машину в мае", "Какие машины мы покупали?",
           ["Сегодня идёт дождь", "Моя сестра живёт в Москве", "Я люблю чай"]),
    "zh": ("我的狗叫小黑，今年三岁", "我的狗叫什么名字？",
           ["今天天气很好", "我姐姐住在上海", "我们去吃火锅吧"]),
    "ja": ("先週、京都で古い寺を見学しました", "京都では何を見学しましたか？",
           ["今日はいい天気です", "姉は大阪に住んでいます", "寿司が好きです"]),
    "ko": ("우리 강아지 이름은 초코입니다", "강아지의 이름이 뭐였지?",
           ["오늘 날씨가 좋다", "언니는 서울에 산다", "저녁으로 국수를 먹자"]),
    "th": ("ฉันซื้อรถจักรยานสีแดงเมื่อวาน", "รถจักรยานของฉันสีอะไร",
           ["วันนี้อากาศดีมาก", "พี่สาวอยู่เชียงใหม่", "เราไปกินข้าวกัน"]),
    "ar": ("اشتريت السيارة الحمراء في دبي", "أين اشتريت سيارة؟",
           ["الطقس جميل اليوم", "أختي تعيش في القاهرة", "أحب القهوة"]),
    "he": ("קניתי את הבית בחיפה", "איפה קניתי בית?",
           ["היום יורד גשם", "אחותי גרה בירושלים", "אני אוהב קפה"]),
    "hi": ("मेरे कुत्ते का नाम शेरू है", "कुत्ते का नाम क्या है?",
           ["आज मौसम अच्छा है", "मेरी बहन दिल्ली में रहती है", "चलो खाना खाते हैं"]),
    "code": ("The limit lives in config/settings.yaml as MAX_RETRY_COUNT", "what is maxRetryCount?",
             ["The tests pass now", "We use Python here", "Deploy on Friday"]),
}  # fmt: skip


@pytest.mark.parametrize("language", sorted(LANGUAGES))
@pytest.mark.parametrize("place", [0, 2])
def test_the_fact_is_found_in_every_language(language, place):
    fact, question, rest = LANGUAGES[language]
    texts = [*rest[:place], fact, *rest[place:]]
    assert ask(plain(*texts), question).values.argmax() == place


def test_holders_of_several_terms():
    index = RelevanceIndex()
    for i, text in enumerate(["red fox", "blue fox", "red sea"]):
        index.append(analyse_text(text, role="user"), turn=i, tokens=3)
    assert index.holders(["red", "fox", "moon"], 3) == [[0, 2], [0, 1], []]
    assert index.holders(["red", "fox"], 1) == [[0], [0]]
    assert index.holders([], 3) == []


def test_a_question_about_one_who_speaks_finds_what_they_told():
    lines = [("Ann", "I bake rye bread and sell it."), ("Bob", "Oh."), ("Bob", "I sail a lot.")]
    index = RelevanceIndex()
    for turn, (name, text) in enumerate(lines):
        index.append(analyse_text(text, role="user", name=name), turn=turn, tokens=len(text))
    asked = index.relevance(analyse_text("What is Ann like?", role="user"))
    assert asked.values.argmax() == 0
    assert index.relevance(analyse_text("Bye, Ann.", role="user")).values.tolist() == [0.0] * 3
    assert (
        index.relevance(analyse_text("What is Eve like?", role="user")).values.tolist() == [0.0] * 3
    )
