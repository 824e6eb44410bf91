from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eunoe.domain.flag import FLAG_NAMES, NO_FLAGS, FlagReading, Flags
from eunoe.stages.flags import flags_in_force, lock_flags, read_flags

POLICIES = "stable, relevance, window, lethe, lethes, dycp, lethus, unified"


@pytest.mark.parametrize(
    ("text", "flags", "rest"),
    [
        pytest.param("!full hi", {"full": True}, "hi", id="full"),
        pytest.param("!target=6000 hi", {"target": 6000}, "hi", id="target"),
        pytest.param("!context=2 hi", {"context": 2}, "hi", id="context"),
        pytest.param("!nosum hi", {"nosum": True}, "hi", id="nosum"),
        pytest.param("!pin hi", {"pin": True}, "hi", id="pin"),
        pytest.param("!recent=4 hi", {"recent": 4}, "hi", id="recent"),
        pytest.param("!recent=0 hi", {"recent": 0}, "hi", id="recent none"),
        pytest.param("!keep_tag=db hi", {"keep_tag": "db"}, "hi", id="keep_tag"),
        pytest.param("!weight=2.5 hi", {"weight": 2.5}, "hi", id="weight"),
        pytest.param("!tool_penalty=0.2 hi", {"tool_penalty": 0.2}, "hi", id="tool_penalty"),
        pytest.param("!pair_coherence=1 hi", {"pair_coherence": 1.0}, "hi", id="pair_coherence"),
        pytest.param("!tag=db hi", {"tag": "db"}, "hi", id="tag"),
        pytest.param("!drop hi", {"drop": True}, "hi", id="drop"),
        pytest.param("!recall hi", {"recall": True}, "hi", id="recall"),
        pytest.param("!norecall hi", {"recall": False}, "hi", id="norecall"),
        pytest.param("!policy=window hi", {"policy": "window"}, "hi", id="policy"),
        pytest.param("!why hi", {"why": True}, "hi", id="why"),
        pytest.param("!nosum,full hi", {"nosum": True, "full": True}, "hi", id="several"),
        pytest.param("!pin\nhi", {"pin": True}, "hi", id="line break ends the flags"),
        pytest.param("!pin   hi", {"pin": True}, "hi", id="blanks between are the flags'"),
        pytest.param("!pin\u3000你好", {"pin": True}, "你好", id="wide blank"),
        pytest.param('!tag="决策" hi', {"tag": "决策"}, "hi", id="quoted, not ASCII"),
        pytest.param('!tag="C:\\users\\x" hi', {"tag": "C:\\users\\x"}, "hi", id="backslashes"),
        pytest.param(
            '!tag="two words",pin hi', {"tag": "two words", "pin": True}, "hi", id="quoted blank"
        ),
        pytest.param("!full=false hi", {"full": False}, "hi", id="a switch that is false"),
        pytest.param("!full=0 hi", {"full": False}, "hi", id="a switch that is 0"),
        pytest.param("!full=TRUE hi", {"full": True}, "hi", id="a switch that is true"),
        pytest.param("!pin", {"pin": True}, "", id="nothing behind"),
        pytest.param("!pin !full hi", {"pin": True}, "!full hi", id="flags stand once"),
        pytest.param("!target=5,target=7 hi", {"target": 7}, "hi", id="the last one counts"),
    ],
)
def test_flags_are_read(text, flags, rest):
    reading = read_flags(text)
    assert reading is not None
    assert reading.flags == Flags(**flags)
    assert (reading.rest, reading.problems) == (rest, ())


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hi",
        "!",
        "!!",
        "!!pin hi",
        "!?",
        "! hello",
        "!!! wow",
        "!<div>",
        "!important fix this bug",
        "!important: never delete it",
        "!= is the not-equal operator",
        "!ls -la",
        "!git commit -m 'x'",
        "!important; color:red",
        "!isinstance(x, str) is ugly",
        "!don't worry about tests, just ship it",
        "!it's fine, you're right",
        "!请帮我总结一下这段对话的要点",
        "！full 你好",
        "!http://x.com/full hello",
        "!see/full text",
        "!FULL hi",
        "!unknown hi",
        "!full,unknown hi",
        "!unknown,full hi",
        "!recent=4, target=6000 Answer",
        "!full: go",
        "!full. Yes",
        "!key=,x hi",
        "!a+b=c hi",
        " !nosum",
        "\\!nosum hi",
        "\ufeff!pin hi",
        "wow !pin hi",
        "![img](https://example.org/x.png)",
        "!full! hi",
        "!-",
        "!+ pin",
        "!pin,",
        "!pin,,full hi",
        '!tag="open hi',
        '!tag=a"b hi',
    ],
)
def test_other_text_is_left_whole(text):
    assert read_flags(text) is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("!target=abc hi", "!target=abc: allowed are whole numbers from 1 to 10000000"),
        ("!target=0 hi", "!target=0: allowed are whole numbers from 1 to 10000000"),
        ("!target=-5 hi", "!target=-5: allowed are whole numbers from 1 to 10000000"),
        ("!target=1e3 hi", "!target=1e3: allowed are whole numbers from 1 to 10000000"),
        ("!target=٣ hi", "!target=٣: allowed are whole numbers from 1 to 10000000"),
        ("!target hi", "!target needs a value, such as !target=4000"),
        ("!target= hi", "!target needs a value, such as !target=4000"),
        ("!context=0 hi", "!context=0: allowed are whole numbers from 1 to 1000000"),
        ("!recent=x hi", "!recent=x: allowed are whole numbers from 0 to 1000000"),
        ("!weight=nan hi", "!weight=nan: allowed are numbers from 0 to 100"),
        ("!weight=101 hi", "!weight=101: allowed are numbers from 0 to 100"),
        ("!weight hi", "!weight needs a value, such as !weight=0.5"),
        ("!tool_penalty=2 hi", "!tool_penalty=2: allowed are numbers from 0 to 1"),
        ("!pair_coherence=inf hi", "!pair_coherence=inf: allowed are numbers from 0 to 1"),
        ("!pin=maybe hi", "!pin=maybe: it is a switch; allowed: nothing, true or false"),
        ("!policy=best hi", f"!policy=best: allowed are {POLICIES}"),
        ("!policy=off hi", f"!policy=off: allowed are {POLICIES}"),
        ("!tag= hi", "!tag needs a value, such as !tag=stable"),
        ('!tag="" hi', "!tag needs a value, such as !tag=stable"),
        (
            f"!target={'9' * 5000} hi",
            f"!target={'9' * 20}…: allowed are whole numbers from 1 to 10000000",
        ),
    ],
)
def test_a_bad_value_leaves_the_text_alone_and_says_so(text, said):
    reading = read_flags(text)
    assert reading is not None
    assert reading.problems == (said,)
    assert reading.rest == text
    assert reading.flags == NO_FLAGS
    assert (reading.standing, reading.switched_off) == (NO_FLAGS, ())


def test_one_bad_value_spoils_the_others_and_all_are_named():
    reading = read_flags("!pin,target=x,weight=y hi")
    assert reading is not None
    assert reading.flags == NO_FLAGS
    assert len(reading.problems) == 2


def test_plus_stays_on_and_minus_switches_off():
    reading = read_flags("!+recent=3,-nosum,+norecall,why hi")
    assert reading is not None
    assert reading.flags == Flags(recent=3, recall=False, why=True)
    assert reading.standing == Flags(recent=3, recall=False)
    assert reading.switched_off == ("nosum",)


@pytest.mark.parametrize("name", ["pin", "drop", "tag=x", "weight=2"])
def test_what_belongs_to_one_message_never_stands(name):
    reading = read_flags(f"!+{name} hi")
    assert reading is not None
    assert reading.flags != NO_FLAGS
    assert reading.standing == NO_FLAGS


def in_force(*texts: str) -> Flags:
    return flags_in_force(read_flags(t) or FlagReading() for t in texts)


@pytest.mark.parametrize(
    ("turns", "expected"),
    [
        pytest.param([], NO_FLAGS, id="no turns"),
        pytest.param(["!full a", "b"], NO_FLAGS, id="for one turn only"),
        pytest.param(["!+full a", "b", "c"], Flags(full=True), id="kept on"),
        pytest.param(["!+full a", "!-full b"], NO_FLAGS, id="off again"),
        pytest.param(["!+full a", "!-full b", "c"], NO_FLAGS, id="off for good"),
        pytest.param(["!-full a", "!+full b", "c"], Flags(full=True), id="off, then on"),
        pytest.param(
            ["!+recent=3 a", "!recent=5 b"], Flags(recent=5), id="this turn over standing"
        ),
        pytest.param(["!+recent=3 a", "!recent=5 b", "c"], Flags(recent=3), id="and back"),
        pytest.param(["!+recent=3 a", "!+recent=9 b", "c"], Flags(recent=9), id="the newer stands"),
        pytest.param(["!+recent=3 a", "!why b"], Flags(recent=3, why=True), id="together"),
        pytest.param(["!+recall a", "!norecall b"], Flags(recall=False), id="norecall over recall"),
        pytest.param(["!+norecall a", "!-norecall b"], NO_FLAGS, id="norecall off again"),
        pytest.param(["!+norecall a", "!recall b"], Flags(recall=True), id="recall over norecall"),
        pytest.param(["!+recent=0 a", "b"], Flags(recent=0), id="0 is a value"),
        pytest.param(["!+target=x a", "b"], NO_FLAGS, id="a bad value does not stand"),
        pytest.param(["!+pin a", "b"], NO_FLAGS, id="a pin is the message's"),
        pytest.param(["!+nosum a", "!nosum=false b"], Flags(nosum=False), id="false overrules"),
        pytest.param(["!+nosum a", "!nosum=false b", "c"], Flags(nosum=True), id="for one turn"),
        pytest.param(["!+recall a", "!recall=no b"], Flags(recall=False), id="recall, too"),
    ],
)
def test_flags_over_turns(turns, expected):
    assert in_force(*turns) == expected


@pytest.mark.parametrize(
    ("text", "locked", "left", "hit"),
    [
        pytest.param("!full,pin hi", ("full",), Flags(pin=True), ("full",), id="one"),
        pytest.param("!full,pin hi", ("full", "pin"), NO_FLAGS, ("full", "pin"), id="two"),
        pytest.param("!full hi", ("target",), Flags(full=True), (), id="another"),
        pytest.param("!norecall hi", ("norecall",), NO_FLAGS, ("norecall",), id="norecall"),
        pytest.param("!target=9 hi", ("target",), NO_FLAGS, ("target",), id="with a value"),
        pytest.param("!recent=0 hi", ("recent",), NO_FLAGS, ("recent",), id="0 is a value"),
        pytest.param("!norecall hi", ("recall",), Flags(recall=False), (), id="not its opposite"),
        pytest.param("!recall hi", ("norecall",), Flags(recall=True), (), id="nor that one's"),
        pytest.param("!recall hi", ("recall", "norecall"), NO_FLAGS, ("recall",), id="both"),
    ],
)
def test_flags_are_locked_one_by_one(text, locked, left, hit):
    reading = read_flags(text)
    assert reading is not None
    after, names = lock_flags(reading, locked)
    assert after.flags == left
    assert names == hit
    assert after.rest == "hi"


def test_a_locked_flag_does_not_stand_either():
    reading = read_flags("!+full,+recent=2 hi")
    assert reading is not None
    after, _ = lock_flags(reading, ("full",))
    assert after.standing == Flags(recent=2)


@pytest.mark.property
@settings(max_examples=200)
@given(text=st.text(alphabet="!+-=,\"' \npinfulltargetcontext0123456789.你’", max_size=30))
def test_whatever_is_read_is_a_prefix_of_known_names(text):
    reading = read_flags("!" + text)
    if reading is None:
        return
    assert ("!" + text).endswith(reading.rest)
    assert set(reading.switched_off) <= {*FLAG_NAMES}
    assert not reading.problems or reading.rest == "!" + text
