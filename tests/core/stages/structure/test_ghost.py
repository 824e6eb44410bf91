import pytest

from eunoe.stages.structure.ghost import (
    asked_types,
    entity_type,
    ghost_weights,
    points_away,
    stand_ins,
)

MENTIONS = {"src/a.py": [0, 4], "valueerror": [3], "ann": [5], "b.txt": [2]}
TURN = [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("src/a.py", "file"),
        ("https://x.org/a", "link"),
        ("valueerror", "error"),
        ("v2.1", "version"),
        ("user_id", "code"),
        ("ops-12", "ticket"),
        ("ann", "name"),
    ],
)
def test_types(name, kind):
    assert entity_type(name) == kind


@pytest.mark.parametrize(
    ("question", "thing"),
    [
        ("open the file again", "src/a.py"),
        ("what caused that error?", "valueerror"),
        ("is it done?", "ann"),
        ("那个文件在哪里", "src/a.py"),
        ("那個檔案在哪裡", "src/a.py"),
        ("그 파일은 어디에 있나요?", "src/a.py"),
        ("エラーの原因は？", "valueerror"),
        ("plant roses", ""),
    ],
)
def test_what_a_question_leans_on(question, thing):
    meant = ghost_weights(question, (), MENTIONS, TURN)
    assert max(meant, key=lambda name: MENTIONS[name][-1], default="") == thing


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("把它删掉", ("它",)),
        ("他們在哪裡？這個呢？", ("他們", "這個")),
        ("其它问题呢？其他人呢？", ()),
        ("吉他、维他命和排他锁", ()),
        ("それは何？", ("それ",)),
        ("あれはどこ？", ("あれ",)),
        ("時間があれば、何であれ", ()),
        ("それでは、おそれず、それから、これまで", ()),
        ("그것은 무엇인가요?", ("그것",)),
        ("종이것은", ()),
    ],
)
def test_signs_that_stand_for_something(question, words):
    assert stand_ins(question) == words
    assert points_away(question) is bool(words)


def test_named_entities_count_by_rarity_and_silence_pronouns():
    got = ghost_weights("is it in src/a.py?", ["src/a.py"], MENTIONS, TURN)
    assert got == {"src/a.py": 0.5}


def test_recent_entities_fade_by_turn_and_old_ones_are_out():
    got = ghost_weights(
        "is it done?", [], {"new": [5], "older": [3], "old": [0]}, [0, 1, 2, 8, 9, 9]
    )
    assert got == pytest.approx({"new": 1.0, "older": 0.9})


def test_nothing_to_point_at():
    assert points_away("is it done?")
    assert not points_away("plant roses")
    assert asked_types("plant roses") == frozenset()
    assert ghost_weights("is it done?", [], {}, []) == {}
