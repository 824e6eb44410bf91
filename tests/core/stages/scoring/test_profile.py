from eunoe.stages.scoring.analysis import analyse_text
from eunoe.stages.scoring.cues import CUE_RECALL
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
    assert index_of("x").profile(query).anaphora
    assert kind_of(analyse_text("fine", role="user")) == ""


def test_words_about_the_chat_count_less_when_it_is_asked_back():
    assert meta_share("mention", CUE_RECALL) == PROFILE_META_SHARE
    assert meta_share("mention", 0) == 1.0
    assert meta_share("budget", CUE_RECALL) == 1.0
