import pytest

from eunoe.stages.scoring.analysis import analyse_text
from eunoe.stages.scoring.cues import CUE_ANAPHOR, CUE_ORDER, CUE_RECALL, CUE_SUMMARY
from eunoe.stages.scoring.index import RelevanceIndex
from eunoe.stages.scoring.profile import PROFILE_META_SHARE, cues_of, kind_of, meta_share


def index_of(*texts):
    index = RelevanceIndex()
    for i, text in enumerate(texts):
        index.append(analyse_text(text, role="user"), turn=i, tokens=10)
    return index


def test_rare_terms_come_first_and_unknown_ones_apart():
    index = index_of("red apple", "red pear", "red plum")
    profile = index.profile(analyse_text("red apple unicorn?", role="user"))
    assert [term for term, _ in profile.weights] == ["appl", "red"]
    assert profile.unknown == ("unicorn",)
    assert profile.asks


def test_cues_and_kind():
    query = analyse_text("When did we talk about it earlier?", role="user")
    assert cues_of(query) & CUE_RECALL
    assert kind_of(query) == "when"
    assert index_of("x").profile(query).recalls
    assert cues_of(query) & CUE_ANAPHOR
    assert kind_of(analyse_text("fine", role="user")) == ""


def test_words_about_the_chat_count_less_when_it_is_asked_back():
    assert meta_share("mention", CUE_RECALL) == PROFILE_META_SHARE
    assert meta_share("mention", 0) == 1.0
    assert meta_share("budget", CUE_RECALL) == 1.0


@pytest.mark.parametrize(
    "text",
    [
        "How many keys does Ann have?",
        "How long was Ann in Kiel?",
        "Wie viele Schlüssel hat Ann?",
        "¿Cuántas llaves tiene Ann?",
        "Combien de clés a Ann ?",
        "Сколько ключей у Анны?",
        "安娜有多少钥匙？",
    ],
)
def test_words_that_ask_for_a_quantity_count_less(text):
    query = analyse_text(text, role="user")
    index = index_of("none", text, "none")
    weights = dict(index.profile(query).weights)
    asked = [t for t in weights if meta_share(t, 0, "how_many") < 1.0]
    assert asked
    assert max(weights[t] for t in asked) < min(w for t, w in weights.items() if t not in asked)
    assert all(meta_share(t, 0, "other") == 1.0 for t in asked)


def test_the_length_of_a_list_is_not_what_it_is_about():
    assert meta_share("5", CUE_ORDER) == meta_share("3", CUE_SUMMARY) == PROFILE_META_SHARE
    assert meta_share("5", 0) == meta_share("2024", CUE_SUMMARY) == 1.0
